/** Tests the windows of the review page: actions of the user, and traces of the page after it was closed. */
import t, { type Test } from "tap";
import { sharePage, startPage } from "../support/page.ts";
import { shareNvim } from "../support/reset.ts";
import { becomes } from "../support/wait.ts";

shareNvim(t);
const fresh = sharePage(t);

const files = { "a.txt": "a\n", "b.txt": "b\n", "notes.txt": "notes\n" };

/** Lua that returns the options, mappings and buffers that a closed page has left. */
const LEFT = `local left = {}
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    for _, name in ipairs({ 'winbar', 'cursorline', 'signcolumn', 'diff', 'scrollbind', 'winfixwidth' }) do
      if vim.wo[win][name] ~= vim.go[name] then left[#left + 1] = name end
    end
  end
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    if name:find('^gemini%-page:') then left[#left + 1] = name end
    for _, map in ipairs(vim.api.nvim_buf_get_keymap(buf, 'n')) do
      if (map.rhs or ''):find('<Plug>%(gemini') then left[#left + 1] = map.lhs .. ' in ' .. name end
    end
  end
  return table.concat(left, ', ')`;

/** Opens the review page with two changed files, beside a window with another file. The focus is in the tree. */
async function open(t: Test) {
  const page = await fresh(t, { files, args: ["notes.txt"] });
  await page.agent.prompt("task");
  for (const name of ["a.txt", "b.txt"]) await page.agent.write(name, `agent\n${page.read(name)}`);
  await page.changed(2);
  await page.nvim.input(":GeminiChanges<CR>");
  await page.is(t, "*page:2", "a.txt:1");
  return page;
}

for (const [what, ...keys] of [
  ["closing the tree", ":q<CR>"],
  ["closing the tree without an event", ":noautocmd close<CR>"],
  ["closing all other tab pages, then the page", ":tabonly<CR>", "q"],
  ["closing the file, all other tab pages, then the page", "<C-w>o", ":tabonly<CR>", "q"],
  [
    "splitting the tree and the file",
    ":split<CR>",
    "\\t",
    ":split<CR>",
    ":tab split<CR>",
    ":GeminiChanges<CR>",
    "q",
  ],
  ["moving the tree to another tab page", "<C-w>T", "q"],
  ["another file beside the tree", "\\t", ":edit b.txt<CR>", ":GeminiChanges<CR>", "q", ":edit a.txt<CR>"],
  [
    "the reviewed file again after another one",
    ...["\\t", ":edit notes.txt<CR>", ":edit a.txt<CR>", "<C-w>|", ":edit notes.txt<CR>"],
    ...[":tabclose<CR>", ":edit a.txt<CR>"],
  ],
  ["another file in place of the tree", ":edit b.txt<CR>", ":tabclose<CR>", ":edit a.txt<CR>"],
  ["the reviewed file in another window", ":1tabnext<CR>", ":edit a.txt<CR>", ":GeminiChanges<CR>", "q"],
  ["a comparison whose file was replaced", "d", "\\t", ":edit b.txt<CR>", ":tabclose<CR>", ":edit a.txt<CR>"],
  ["a comparison whose file was closed", "d", "\\t", ":q<CR>", ":tabclose<CR>", ":edit a.txt<CR>"],
  ["a comparison that is closed with its file", "d", "\\t", ":q | tabclose<CR>", ":edit a.txt<CR>"],
] as const)
  t.test(`nothing of the review page remains after ${what}`, async (t) => {
    const { nvim } = await open(t);
    t.match(await nvim.lua(LEFT), /page.*in gemini-page/);
    const scrollopt = await nvim.lua("return vim.go.scrollopt");
    for (const key of keys) {
      await nvim.input(key);
      if (key === "d") await nvim.waitFor("vim.wo[vim.fn.bufwinid('a.txt')].diff", "the comparison");
    }
    await becomes(t, () => nvim.lua(LEFT), "", "the page to be gone");
    t.equal(await nvim.lua("return vim.go.scrollopt"), scrollopt);
    t.notMatch(await nvim.messages(), /E\d+|error/i);
  });

t.test(
  "a session that was saved with the review page restores no part of the page, and the page can be opened again",
  async (t) => {
    const page = await open(t);
    const { nvim } = page;
    await nvim.command("mksession session.vim");
    await nvim.input("q");
    await nvim.command("silent source session.vim");
    await becomes(t, () => nvim.lua(LEFT), "", "the buffers of the session to be gone");
    await nvim.input(":GeminiChanges<CR>");
    await nvim.waitFor(async () => /^\*page/.test((await page.windows())[0] ?? ""), "the page");
    t.notMatch(await nvim.messages(), /E\d+|error/i);
  },
);

t.test(
  "the review page works after the user has closed, split, emptied and refilled its windows",
  async (t) => {
    const page = await open(t);
    const { nvim } = page;
    await nvim.input("\\t:q<CR>");
    await page.is(t, "*page:2");
    await nvim.input("s");
    await page.is(t, "*page:3", "b.txt:1");
    await page.changed(1);
    await nvim.input(":edit!<CR>");
    await page.shows(t, "▾ task +1 -0 1/2", " ✓ a.txt 1/1", " ● b.txt +1 -0 0/1");
    await nvim.input("u");
    await page.changed(2);
    await nvim.input(":split<CR>:q<CR>");
    await nvim.input("\\t:edit notes.txt<CR>");
    await nvim.input("\\u");
    t.notMatch(await nvim.messages(), /E\d+|error/i, "the keys are not mapped in another file");
    await nvim.input(":GeminiChanges<CR>");
    await nvim.input("]f\\t]f");
    const mapped = "vim.fn.maparg('q', 'n') ~= '' and vim.fn.bufname():find('txt') ~= nil";
    t.equal(await nvim.lua(`return ${mapped}`), true, "the keys are mapped in the next file");
    await nvim.input("\\tgS");
    await page.changed(0);
    await nvim.input("<C-w>l:1tabnext<CR>:GeminiChanges<CR>");
    t.match(await page.windows(), [/^\*page:/], "the command goes to an open page without changes");
  },
);

t.test("a review beside the review page does not use the window of the page's file", async (t) => {
  const page = await open(t);
  const client = await page.bridge.client();
  await client.openDiff(page.nvim.path("a.txt"), "proposed\n");
  await page.nvim.input(":tabonly<CR>:q<CR>");
  await page.nvim.command("GeminiReject a.txt");
  await becomes(t, () => page.nvim.lua(LEFT), "", "the options to be reset");
});

t.test("the command line keeps its height after a review beside a maximized status view", async (t) => {
  const { nvim, bridge } = await fresh(t, { files, args: ["notes.txt"] });
  const client = await bridge.client();
  await nvim.input(":GeminiStatus<CR><C-w>_");
  const before = await nvim.lua("return vim.fn.winrestcmd()");
  await client.openDiff(nvim.path("a.txt"), "proposed\n");
  await nvim.command("GeminiReject");
  await nvim.waitFor("#vim.api.nvim_list_wins() == 2", "the review to be closed");
  t.equal(await nvim.lua("return vim.o.cmdheight"), 1);
  t.equal(await nvim.lua("return vim.fn.winrestcmd()"), before);
});

t.test("the command line keeps its height beside a tab page of the plugin", async (t) => {
  const { nvim } = await open(t);
  await nvim.input(":1tabnext<CR>");
  await nvim.input(":split<CR>q:");
  await nvim.input("<C-c><C-c>");
  t.equal(await nvim.lua("return vim.o.cmdheight"), 1);
});

t.test("the page shows a file again where the user has opened another one", async (t) => {
  const page = await open(t);
  const { nvim } = page;
  await nvim.input("\\t:edit notes.txt<CR>:GeminiChanges<CR><CR>");
  await page.is(t, "*page:2", "a.txt:1");
  t.match(await nvim.lua("return vim.wo[vim.fn.bufwinid('a.txt')].winbar"), /a\.txt.* 0\/1/);
  await nvim.input("<CR>");
  await page.is(t, "page:2", "*a.txt:1");
  await nvim.input(":edit notes.txt<CR>:tabfirst<CR>:edit a.txt<CR>:tablast<CR>:edit a.txt<CR>");
  await page.is(t, "page:2", "*a.txt:1");
  t.same(await nvim.lua("return { vim.wo.winbar, vim.wo.cursorline }"), ["", false], "the user's own window");
});

t.test("without 'hidden', unsaved text stays when the page shows another file or closes", async (t) => {
  const page = await open(t);
  const { nvim } = page;
  await nvim.command("set nohidden");
  await nvim.input("\\tGomine<Esc>]f");
  await page.is(t, "page:3", "*b.txt:1");
  t.equal(await nvim.lua("return table.concat(vim.fn.getbufline('a.txt', 1, '$'), ' ')"), "agent a mine");
  await nvim.input("[f");
  await page.is(t, "page:2", "*a.txt:1");
  await nvim.input("q");
  await page.is(t, "*notes.txt:1");
  t.equal(await nvim.lua("return table.concat(vim.fn.getbufline('a.txt', 1, '$'), ' ')"), "agent a mine");
  t.equal(await nvim.lua("return vim.bo[vim.fn.bufnr('a.txt')].buflisted"), true);
  t.notMatch(await nvim.messages(), /E\d+|error/i);
});

t.test("an autocommand that fails when the page shows a file does not stop the page", async (t) => {
  const page = await open(t);
  const { nvim } = page;
  await nvim.command("autocmd BufEnter b.txt call Missing()");
  await nvim.input("]f");
  await page.is(t, "*page:3", "b.txt:1");
  await nvim.says(/comes from an autocommand.*E117: Unknown function: Missing/);
  t.notMatch(await nvim.messages(), /traceback/);
  await nvim.input("S");
  await page.changed(1);
  await nvim.command("autocmd! BufEnter b.txt");
});

t.test("with 'autochdir', paths in the tree stay relative to the directory of the start", async (t) => {
  const page = await fresh(t, { files: { ...files, "d/a.txt": "d\n" }, args: ["notes.txt"] });
  const { nvim, agent } = page;
  await nvim.command("set autochdir");
  await agent.prompt("task");
  await agent.write("a.txt", "a\nagent\n");
  await page.changed(1);
  await nvim.input(":GeminiChanges<CR>");
  await page.is(t, "page:2", "*a.txt:2");
  await nvim.input(":tabprevious<CR>:edit d/a.txt<CR>");
  await agent.write("d/a.txt", "d\nagent\n");
  await agent.write("new.txt", "new\n");
  await page.shows(
    t,
    "▾ task +3 -0 0/3",
    " ▾ d +1 -0 0/1",
    "  ● a.txt +1 -0 0/1",
    " ● a.txt +1 -0 0/1",
    " ● new.txt +1 -0 0/1",
  );
});

t.test("the review page opens in spite of an autocommand that fails for new windows", async (t) => {
  const page = await fresh(t, { files, args: ["notes.txt"] });
  await page.agent.prompt("task");
  for (const name of ["a.txt", "b.txt"]) await page.agent.write(name, `agent\n${page.read(name)}`);
  await page.changed(2);
  await page.nvim.lua(
    "vim.api.nvim_create_autocmd({ 'WinNew', 'BufWinEnter' }, { callback = function() error('a plugin fails') end })",
  );
  await page.nvim.input(":GeminiChanges<CR>");
  await page.is(t, "*page:2", "a.txt:1");
  await page.nvim.says("a plugin fails");
  t.equal(await page.nvim.lua("return vim.fn.tabpagenr('$')"), 2);
  await page.nvim.lua("vim.api.nvim_clear_autocmds({ event = { 'WinNew', 'BufWinEnter' } })");
  await page.nvim.input("q");
  t.equal(await page.nvim.lua("return vim.fn.expand('%:t')"), "notes.txt");
});

t.test("without room at the right, the review page shows only the tree and says why", async (t) => {
  const page = await startPage(t, {
    files,
    init: "vim.cmd('set columns=80 winwidth=70 winminwidth=70')",
  });
  const { nvim } = page;
  await page.agent.write("a.txt", "agent\n");
  await page.changed(1);
  await nvim.input(":GeminiChanges<CR>");
  await page.is(t, "*page:2");
  await nvim.waitFor(async () => /no room .*E36: Not enough room/.test(await nvim.messages()), "the reason");
  t.notMatch(await nvim.messages(), /stack traceback|autocommand/);
  t.equal(await nvim.lua("return vim.fn.line('.')"), 2, "the cursor is on the file");
  const { length } = await nvim.messages();
  await nvim.input("X");
  await page.lists(t);
  t.equal(page.read("a.txt"), "a\n");
  t.notMatch((await nvim.messages()).slice(length), /no room/, "the reason is told only once");
  await nvim.input("q");
  await nvim.waitFor("vim.fn.tabpagenr('$') == 1", "the page to close");
});
