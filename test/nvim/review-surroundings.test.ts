/**
 * Tests reviews in the Neovims that people have: other plugins, mappings, encodings and tab pages. Mimics each plugin by
 * the lines that matter. All tests share one Neovim.
 */
import t, { type Test } from "tap";
import { startReviewer, WINBAR } from "../support/review.ts";

const FILES = {
  "a.txt": "one\n",
  "a.lua": "return 1\n",
  "b.lua": "return 2\n",
  "b.txt": "b\n",
  "c.txt": "c\n",
  "latin1.txt": Buffer.from("caf\xe9\none\n", "latin1"),
  "marked.txt": "a \ufffd\none\n",
};

/** Plugins and mappings that delete or hide a buffer. */
const PLUGINS = `
local function bufdelete(choice)
  local buf = vim.api.nvim_get_current_buf()
  if vim.bo[buf].modified and choice == 1 then vim.cmd.write() end
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    vim.api.nvim_win_call(win, function() vim.api.nvim_win_set_buf(win, vim.fn.bufadd('b.txt')) end)
  end
  pcall(vim.cmd, 'bdelete! ' .. buf)
end
vim.keymap.set('n', '<F5>', bufdelete, { desc = 'as Snacks.bufdelete and mini.bufremove' })
vim.keymap.set('n', '<F6>', function() bufdelete(1) end, { desc = 'the same after the answer "Yes"' })
vim.cmd("function! Save()\\n write\\n endfunction")
vim.api.nvim_create_user_command('W', function() vim.cmd.write() end, {})
vim.keymap.set('n', '<F7>', '<Cmd>lua vim.cmd.write()<CR>')
_G.opened = {}
local function server()
  return {
    request = function(method, _, answer)
      vim.schedule(function() answer(nil, method == 'initialize' and { capabilities = { textDocumentSync = 1 } } or nil) end)
      return true, 1
    end,
    notify = function(method, params)
      if method == 'textDocument/didOpen' then table.insert(_G.opened, params.textDocument.uri) end
      return true
    end,
    is_closing = function() return false end,
    terminate = function() end,
  }
end
vim.api.nvim_create_autocmd('FileType', { pattern = 'lua', callback = function(args)
  local id = vim.lsp.start({ name = 'server', cmd = server, root_dir = vim.fn.getcwd() })
  _G.server = _G.server or id
  if _G.is_late then vim.schedule(function() vim.lsp.buf_attach_client(args.buf, _G.server) end) end
end })
vim.api.nvim_create_autocmd({ 'BufLeave', 'TextChanged' }, { nested = true, command = 'silent! update' }) -- auto-save
`;

const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["b.txt", "c.txt"], init: PLUGINS });

/** Opens a review of a.txt, and moves the focus to the proposal. Afterwards closes the review and all other windows. */
async function propose(t: Test, content = "two\n", file = "a.txt"): Promise<number> {
  await nvim.command("messages clear");
  const id = await reviewer.open(nvim.path(file), content);
  t.teardown(async () => {
    await reviewer.close(id).catch(() => {});
    await nvim.command("silent! tabonly! | silent! only! | edit! b.txt");
    reviewer.received.length = 0;
  });
  await reviewer.review();
  return id;
}

/** Returns the messages with spaces in place of line breaks. */
const said = async () => (await nvim.messages()).replaceAll("\n", " ");

for (const keys of ["<F5>", "<F6>", ":bufdo silent! edit<CR>", ":edit c.txt<CR>", ":bnext<CR>"])
  t.test(
    `a proposal that ${keys} has replaced in its window stays pending, and a message says how to show it`,
    async (t) => {
      const id = await propose(t);
      await nvim.input("Aedited<Esc>");
      await nvim.input(keys);
      await nvim.waitFor(async () => /:GeminiReview shows it again/.test(await said()), "the message");
      t.notMatch(await said(), /type :w/);
      t.same(await reviewer.outcomes(), []);
      await reviewer.review();
      t.same(await nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)"), ["twoedited"]);
      await nvim.input(":w<CR>");
      t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: "twoedited\n" } });
    },
  );

for (const keys of [":W<CR>", ":call Save()<CR>", ':exe "w"<CR>', ":wall<CR>", "<F7>"])
  t.test(`${keys} in a proposal decides nothing, and a message says what to type`, async (t) => {
    const id = await propose(t);
    await nvim.input("Aedited<Esc>");
    await nvim.input(":echo 1<CR><C-w>p<C-w>p");
    t.notMatch(await said(), /not accepted/, "auto-save is quiet");
    await nvim.input(keys);
    await nvim.waitFor(
      async () => /not accepted, .*: type :w to accept it/.test(await said()),
      "the message",
    );
    t.same(await reviewer.outcomes(), []);
    await nvim.input(":w<CR>");
    t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: "twoedited\n" } });
  });

t.test(
  "a proposal that has lost characters of its file is accepted only after a correction or with !",
  async (t) => {
    for (const [keys, content] of [
      [":w!<CR>", "caf\ufffd\ntwo\n"],
      ["gg0f\ufffdr\u00e9:w<CR>", "caf\u00e9\ntwo\n"],
    ] as const) {
      const id = await propose(t, "caf\ufffd\ntwo\n", "latin1.txt");
      await nvim.waitFor(`${WINBAR}:find('characters lost (U+FFFD) · :w! accepts', 1, true)`, "the warning");
      await nvim.input(":w<CR>");
      t.same(await reviewer.outcomes(), []);
      t.match(await said(), /Gemini CLI could not read all characters of latin1\.txt/);
      await nvim.input(keys);
      t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content } });
    }
  },
);

t.test("a character U+FFFD of the file itself is no lost character", async (t) => {
  const id = await propose(t, "a \ufffd\ntwo\n", "marked.txt");
  await nvim.waitFor(`${WINBAR}:find('1 hunk · :w accepts', 1, true)`, "the winbar");
  await nvim.input(":w<CR>");
  t.match(await reviewer.outcome(), { name: "diff_accepted", payload: { id } });
});

t.test(":GeminiReject takes a path, or a reason, but no mistyped path", async (t) => {
  const id = await propose(t);
  for (const word of ["b.txt", "sub/a.txt", "%"]) {
    await nvim.input("<C-w>p");
    await nvim.input(`:GeminiReject ${word}<CR>`);
    await nvim.says("No pending proposal for");
    await nvim.command("messages clear");
    await reviewer.review();
  }
  t.same(await reviewer.outcomes(), []);
  await nvim.input(":GeminiReject a.txt<CR>");
  t.same(await reviewer.outcome(), { name: "diff_rejected", payload: { id } });
  for (const reason of ["nonsense", "50 % of b.txt | is wrong"]) {
    const next = await propose(t);
    await nvim.input(`:GeminiReject ${reason}<CR>`);
    t.same(await reviewer.outcome(), { name: "diff_rejected", payload: { id: next } });
    await nvim.says(/The reason was not sent.* :GeminiPrompt! restores the text/s);
    t.equal(await nvim.lua("return require('gemini-bridge.prompt.history').list()[1].text"), reason);
  }
});

/** Lua that prepares two tab pages with directories of their own. The focus is in the first tab page. */
const TABS: Record<string, string> = {
  "shows the file": `
    vim.cmd.edit('b.txt') vim.cmd.tabedit('a.txt') vim.cmd.tcd(vim.fn.fnameescape(vim.fn.stdpath('state')))
    vim.cmd.vsplit(vim.fn.fnameescape(...)) vim.cmd.tabfirst()`,
  "shows the terminal of its CLI": `
    vim.cmd.edit('b.txt') vim.cmd.tabedit('c.txt') vim.cmd.split() vim.cmd.terminal('cat')
    vim.b.gemini_terminal = 'Gemini CLI' vim.cmd.tabfirst()`,
};
for (const [name, scene] of Object.entries(TABS))
  t.test(`a review opens in the tab page that ${name}, and the focus stays`, async (t) => {
    const end = async () =>
      nvim.lua(`
      vim.cmd('silent! tabonly! | silent! only! | edit! b.txt')
      for _, buf in ipairs(vim.api.nvim_list_bufs()) do
        if vim.fn.bufname(buf):find('a.txt$') or vim.bo[buf].buftype == 'terminal' then
          vim.api.nvim_buf_delete(buf, { force = true })
        end
      end`);
    await end();
    t.teardown(end);
    await nvim.lua(scene, nvim.path("c.txt"));
    const before = await reviewer.layout();
    const inFirst = "return { vim.fn.winlayout(1), vim.api.nvim_get_current_win(), vim.fn.getcwd() }";
    const first = await nvim.lua(inFirst);
    for (const keys of [":GeminiReview<CR>:w<CR>", ":tabnext<CR>:GeminiReview<CR>:w<CR>:tabfirst<CR>"]) {
      await nvim.command("messages clear");
      const id = await reviewer.open(nvim.path("a.txt"), "two\n");
      t.same(await nvim.lua(inFirst), first, "nothing changes in the current tab page");
      const [win] = await reviewer.proposals();
      t.equal(await nvim.lua("return vim.fn.win_id2tabwin(...)[1]", win), 2);
      await nvim.says("Gemini CLI proposes a change to a.txt in tab page 2");
      await nvim.input(keys);
      t.match(await reviewer.outcome(), { name: "diff_accepted", payload: { id } });
      await reviewer.outcomes();
      await reviewer.becomes(t, before, "all windows are as before, and the focus is back");
    }
  });

t.test("without a path, a command means the review in the current window", async (t) => {
  await nvim.command("edit c.txt | tabedit b.txt");
  t.teardown(() => nvim.command("silent! tabonly! | silent! only! | edit! b.txt"));
  const ids = [
    await reviewer.open(nvim.path("c.txt"), "3\n"),
    await reviewer.open(nvim.path("a.txt"), "two\n"),
  ];
  t.equal((await reviewer.proposals()).length, 2, "each tab page shows a review");
  await nvim.input(":tabfirst<CR>:GeminiReject<CR>");
  t.same(await reviewer.outcome(), { name: "diff_rejected", payload: { id: ids[0] } });
  await nvim.input(":GeminiReject<CR>");
  t.same(await reviewer.outcome(), { name: "diff_rejected", payload: { id: ids[1] } }, "the only one");
});

t.test("language servers stay attached neither to a proposal nor to the copy of its file", async (t) => {
  await nvim.command("edit a.lua");
  const attached = `vim.tbl_map(vim.fn.bufname, vim.tbl_keys(vim.lsp.get_client_by_id(_G.server).attached_buffers))`;
  await nvim.waitFor("#_G.opened == 1", "the server to open the file");
  await propose(t, "return 3\n", "b.lua");
  await nvim.waitFor("vim.bo.filetype == 'lua'", "the file type");
  t.same(await nvim.lua(`return ${attached}`), ["a.lua"]);
  t.same(
    await nvim.lua("return _G.opened"),
    [`file://${nvim.path("a.lua")}`],
    "servers never see a proposal",
  );
  await nvim.input(":q<CR>");
  await reviewer.outcome();

  await nvim.lua("_G.is_late = true");
  await propose(t, "return 3\n", "b.lua");
  await nvim.waitFor("#_G.opened == 3", "the server to be attached later");
  await nvim.waitFor(`vim.deep_equal(${attached}, { 'a.lua' })`, "the server to be detached");
  t.notMatch(await nvim.messages(), /E\d+:|not attached/);
});

t.test("a plugin that maps keys of a review later does not replace them", async (t) => {
  const id = await propose(t, "one\nb\n", "a.txt");
  await nvim.waitFor("vim.fn.maparg(']h', 'n') ~= ''", "the keys");
  await nvim.lua("vim.keymap.set('n', '\\\\a', 'ggdd', { buffer = 0, desc = 'of a plugin' })");
  await nvim.input("\\a");
  t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: "one\nb\n" } });
});

t.test("a plugin that moves the focus away after WinEnter does not keep :w from the proposal", async (t) => {
  await nvim.lua(`local home = vim.api.nvim_get_current_win()
    vim.api.nvim_create_autocmd('WinEnter', { once = true, callback = function()
      vim.defer_fn(function() vim.api.nvim_set_current_win(home) _G.moved = true end, 10) -- as zen-mode
    end })`);
  const id = await propose(t);
  await nvim.waitFor("_G.moved and vim.b.gemini_diff", "the focus to come back");
  await nvim.input(":w<CR>");
  t.match(await reviewer.outcome(), { name: "diff_accepted", payload: { id } });
});

t.test("a plugin for status lines does not overwrite the winbars of a review", async (t) => {
  await nvim.command("edit a.txt");
  await nvim.lua(`_G.winbars, _G.count = vim.uv.new_timer(), 0
    _G.winbars:start(0, 5, vim.schedule_wrap(function()
      for _, win in ipairs(vim.api.nvim_list_wins()) do vim.wo[win][0].winbar = 'of a plugin' end
      _G.count = _G.count + 1
    end))`);
  t.teardown(() => nvim.lua("_G.winbars:close() vim.wo.winbar = ''"));
  const id = await propose(t);
  await nvim.waitFor(`${WINBAR}:find('1 hunk', 1, true)`, "the winbar");
  const count = await nvim.lua("return _G.count");
  await nvim.waitFor(`_G.count > ${count} + 3`, "the plugin to go on");
  t.match(await nvim.lua(`return ${WINBAR}`), /Proposal for a\.txt · 1 hunk/);
  await nvim.input(":w<CR>");
  t.match(await reviewer.outcome(), { name: "diff_accepted", payload: { id } });
  await nvim.waitFor("vim.wo.winbar == 'of a plugin'", "the plugin's own winbar afterwards");
});

t.test("a winbar that an autocommand of a plugin sets does not replace the winbar of a review", async (t) => {
  await propose(t, "one\ntwo\n");
  await nvim.waitFor(`${WINBAR}:find('1 hunk', 1, true)`, "the winbar");
  await nvim.lua(`_G.moved = 0
    _G.mover = vim.api.nvim_create_autocmd('CursorMoved', { callback = function()
      vim.wo[0][0].winbar, _G.moved = 'of a plugin', _G.moved + 1 -- as barbecue.nvim
    end })`);
  t.teardown(() => nvim.lua("vim.api.nvim_del_autocmd(_G.mover)"));
  await nvim.input("ggj");
  await nvim.waitFor(`_G.moved > 0 and ${WINBAR}:find('Proposal for', 1, true)`, "the review's winbar");
});

t.test("a picker may be a split window, and a float without focus is no picker", async (t) => {
  await nvim.lua(`
    local select, list = vim.ui.select, vim.api.nvim_list_wins
    _G.answers, _G.looks = {}, 0
    function vim.api.nvim_list_wins()
      _G.looks = _G.looks + 1
      return list()
    end
    function vim.ui.select(_, _, choose)
      vim.cmd("botright 5new")
      _G.picker, _G.choose, _G.looks = vim.api.nvim_get_current_win(), choose, 0
      local place = { relative = "editor", row = 0, col = 0, width = 5, height = 1, focusable = false }
      _G.context = vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), false, place) -- as treesitter-context
    end
    function _G.ask()
      require("gemini-bridge.editor.choose")({ "a", "b" }, {}, function(choice)
        table.insert(_G.answers, choice or "cancelled")
      end)
    end
    function _G.restore() vim.ui.select, vim.api.nvim_list_wins = select, list end
    _G.ask()`);
  t.teardown(() => nvim.lua("_G.restore() vim.cmd('silent! only!')"));
  await nvim.waitFor("_G.looks > 6", "more checks than without a picker");
  await nvim.lua("_G.choose('b')");
  await nvim.lua("vim.api.nvim_win_close(_G.picker, true) _G.ask() vim.api.nvim_win_close(_G.picker, true)");
  await nvim.waitFor("#_G.answers == 2", "the end of the second question");
  t.same(await nvim.lua("return _G.answers"), ["b", "cancelled"]);
});

t.test("virtual lines and code lenses of the file are hidden during its review", async (t) => {
  await nvim.command("edit a.txt");
  await nvim.lua(`
    local namespace = vim.api.nvim_create_namespace('virtual lines')
    vim.diagnostic.handlers.virtual_lines = vim.diagnostic.handlers.virtual_lines or { -- as lsp_lines.nvim
      show = function(_, buf)
        vim.api.nvim_buf_set_extmark(buf, namespace, 0, 0, { virt_lines = { { { 'wrong' } } } })
      end,
      hide = function(_, buf) vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1) end,
    }
    vim.diagnostic.config({ virtual_lines = true })
    vim.diagnostic.set(vim.api.nvim_create_namespace('test'), 0, { { lnum = 0, col = 0, message = 'wrong' } })
    if vim.lsp.codelens.enable then vim.lsp.codelens.enable(true, { bufnr = 0 }) end`);
  t.teardown(() => nvim.lua("vim.diagnostic.config({ virtual_lines = false }) vim.diagnostic.reset()"));
  const shown = `(function()
    local buf = vim.fn.bufnr('a.txt')
    local lenses = not vim.lsp.codelens.enable or vim.lsp.codelens.is_enabled({ bufnr = buf })
    local marks = vim.api.nvim_buf_get_extmarks(buf, -1, 0, -1, { details = true })
    return { vim.iter(marks):any(function(mark) return mark[4].virt_lines ~= nil end), lenses }
  end)()`;
  t.same(await nvim.lua(`return ${shown}`), [true, true]);
  await propose(t);
  const during = await nvim.lua(`return ${shown}`);
  t.same(during, [false, Boolean(await nvim.lua("return not vim.lsp.codelens.enable"))]);
  await nvim.lua(`local side_by_side = require('gemini-bridge.difference.side_by_side')
    side_by_side.hide_virtual_lines(vim.fn.bufnr('a.txt'))()`);
  t.same(await nvim.lua(`return ${shown}`), during, "still hidden after the end of another comparison");
  await nvim.input(":q<CR>");
  await reviewer.outcome();
  await nvim.waitFor(`vim.deep_equal(${shown}, { true, true })`, "the lines to come back");
});

t.test(
  "a proposal resolves no paths of other buffers, but finds the buffer of a link to its file",
  async (t) => {
    await nvim.lua(`
    for number = 1, 50 do vim.fn.bufload(vim.fn.bufadd(('far/%d.txt'):format(number))) end
    vim.uv.fs_symlink(vim.fn.fnamemodify('a.txt', ':p'), vim.fn.fnamemodify('link', ':p'))
    vim.cmd.edit('link')
    local real = vim.uv.fs_realpath
    _G.resolved, _G.restore = {}, function() vim.uv.fs_realpath = real end
    vim.uv.fs_realpath = function(path) table.insert(_G.resolved, path) return real(path) end`);
    t.teardown(() => nvim.lua("_G.restore() vim.uv.fs_unlink('link')"));
    const link = await nvim.lua("return vim.api.nvim_get_current_win()");
    await propose(t);
    await nvim.waitFor(`${WINBAR}:find('1 hunk', 1, true)`, "the hunks");
    t.same(
      await nvim.lua(
        "return vim.tbl_filter(function(path) return path:find('/far/') ~= nil end, _G.resolved)",
      ),
      [],
    );
    t.ok(await nvim.lua("return vim.wo[...].diff", link), "the buffer of the link is compared");
  },
);

t.test("accepting a proposal makes the proposal of another CLI for the same file stale", async (t) => {
  const other = await reviewer.open(nvim.path("a.txt"), "three\n", "Claude Code");
  t.teardown(() => reviewer.close(other).catch(() => {}));
  const id = await reviewer.open(nvim.path("a.txt"), "two\n");
  await nvim.lua(
    "require('gemini-bridge.review.decision').accept(require('gemini-bridge.review.records').get(...), 'now')",
    id,
  );
  t.match(await reviewer.outcome(), { name: "diff_accepted", payload: { id } });
  await reviewer.review();
  await nvim.input(":w<CR>");
  await nvim.says("a.txt has changed since the proposal was made");
  t.same(await reviewer.outcomes(), [], "not even before the first CLI has written the file");
  await nvim.input(":w!<CR>");
  t.match(await reviewer.outcome(), { name: "diff_accepted", payload: { id: other } });
});

t.test("a removed line with a NUL byte is shown as a whole", async (t) => {
  const { nvim: one } = reviewer;
  const shown = await one.lua(`local buf = vim.api.nvim_create_buf(false, true)
    local hunks, old = require('gemini-bridge.difference.hunks'), { 'a\\0b' }
    require('gemini-bridge.difference.old_lines').show(buf, hunks.compare(old, { 'a' }), old)
    return vim.api.nvim_buf_get_extmarks(buf, -1, 0, -1, { details = true })[1][4].virt_lines`);
  t.same(shown, [[["a^@b", "DiffDelete"]]]);
});

t.test(
  "both windows of a review stay halves when the screen is resized, unless the user has resized them",
  async (t) => {
    await propose(t);
    const widths = `vim.tbl_map(vim.api.nvim_win_get_width, { vim.fn.win_getid(1), vim.fn.win_getid(2) })`;
    await nvim.lua("vim.o.columns = 121 vim.cmd.doautocmd('VimResized')");
    t.same(await nvim.lua(`return ${widths}`), [60, 60]);
    await nvim.lua("vim.o.columns = 161 vim.cmd.doautocmd('VimResized')");
    t.same(await nvim.lua(`return ${widths}`), [80, 80]);
    await nvim.input("20<C-w><lt>");
    await nvim.lua("vim.wait(20)");
    await nvim.lua("vim.o.columns = 160 vim.cmd.doautocmd('VimResized')");
    t.notSame(await nvim.lua(`return ${widths}`), [80, 79]);
  },
);
