import { existsSync, writeFileSync } from "node:fs";
import t, { type Test } from "tap";
import { shareNvim } from "../support/reset.ts";
import { startReviewer } from "../support/review.ts";
import { waitFor } from "../support/wait.ts";

shareNvim(t);

const FILES = { "a.txt": "one\ntwo\nthree\n", "b.txt": "b\n" };
const PROPOSED = "one\n2\nthree\n";
const TERMINAL = `vim.cmd.edit('b.txt') vim.cmd('vertical botright split') vim.cmd.terminal('cat') vim.cmd.startinsert()`;
const WHERE = "return { vim.api.nvim_get_current_win(), vim.api.nvim_get_mode().mode }";

async function start(t: Test, lua: string, init = "") {
  const { reviewer } = await startReviewer(t, { files: FILES, init });
  await reviewer.nvim.lua(lua);
  if (lua.includes("startinsert"))
    await reviewer.nvim.waitFor(`vim.api.nvim_get_mode().mode == 't'`, "Terminal mode");
  return reviewer;
}

t.test("keys that the user types while reviews open and close reach the intended text", async (t) => {
  for (const layout of ["auto", "tab"]) {
    for (const file of ["b.txt", "a.txt"]) {
      const init = `require('gemini-bridge').setup({ diff = { layout = '${layout}' } })`;
      const reviewer = await start(t, `vim.cmd.edit('${file}') vim.cmd('normal! G')`, init);
      await reviewer.nvim.input("o");
      let typed = "";
      for (let round = 0; round < 15; round++) {
        const keys = `word${round} `;
        typed += keys;
        const typing = reviewer.nvim.nvim.request("nvim_input", [keys]);
        const id = await reviewer.open(reviewer.nvim.path("a.txt"), `${PROPOSED}${round}\n`);
        reviewer.nvim.nvim.notify("nvim_input", ["x"]);
        typed += "x";
        await typing;
        t.equal(await reviewer.close(id), `${PROPOSED}${round}\n`, "no key lands in the proposal");
      }
      await reviewer.nvim.input("");
      t.same(
        await reviewer.nvim.lua("return { vim.api.nvim_get_mode().mode, vim.api.nvim_get_current_line() }"),
        ["i", typed],
      );
    }
  }
});

const MODES: [name: string, keys: string][] = [
  ["Visual mode", "vl"],
  ["linewise Visual mode", "V"],
  ["blockwise Visual mode", "<C-v>l"],
  ["Insert mode", "A more"],
  ["Replace mode", "Rx"],
  ["an operator", "d"],
  ["the command line", ":echo 1"],
  ["a search", "/tw"],
];
for (const layout of ["auto", "tab"]) {
  t.test(`each mode of Neovim continues while a review opens and closes, layout ${layout}`, async (t) => {
    const init = `require('gemini-bridge').setup({ diff = { layout = '${layout}' } })`;
    const reviewer = await start(t, `vim.cmd.edit('b.txt')`, init);
    for (const [name, keys] of MODES) {
      await reviewer.nvim.input(keys);
      const before = await reviewer.nvim.nvim.mode;
      await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED);
      t.same(await reviewer.nvim.nvim.mode, before, name);
      await reviewer.nvim.lua(`require('gemini-bridge').reject()`);
      t.same(await reviewer.nvim.nvim.mode, before, name);
      await reviewer.nvim.input("<Esc>");
      t.same(await reviewer.proposals(), []);
    }
  });
}

t.test("keys typed into a terminal reach the terminal while reviews open and close", async (t) => {
  const reviewer = await start(t, TERMINAL);
  const where = await reviewer.nvim.lua(WHERE);
  await reviewer.nvim.input("before ");
  const id = await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED);
  t.same(await reviewer.nvim.lua(WHERE), where);
  await reviewer.nvim.input("meanwhile ");
  await reviewer.close(id);
  t.same(await reviewer.nvim.lua(WHERE), where);
  await reviewer.nvim.input("after<CR>");
  await reviewer.nvim.waitFor(
    `table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false)):find('before meanwhile after', 1, true)`,
    "the text in the terminal",
  );
});

t.test("after a decision, the focus returns to the terminal in Normal mode", async (t) => {
  const decisions = [":w<CR>", ":q<CR>", "ZZ", ":wq<CR>", "ix<Esc>:x<CR>", ":GeminiReject<CR>"];
  for (const go of ["<C-\\><C-n>:GeminiReview<CR>", "<C-\\><C-n><C-w>w", "<C-g>"]) {
    const reviewer = await start(t, `vim.keymap.set('t', '<C-g>', '<Cmd>GeminiReview<CR>') ${TERMINAL}`);
    const before = await reviewer.layout();
    for (const keys of decisions) {
      await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED);
      await reviewer.nvim.waitFor(`vim.api.nvim_get_mode().mode == 't'`, "Terminal mode");
      await reviewer.nvim.input(go);
      if (go.endsWith("w"))
        await reviewer.nvim.lua(`vim.api.nvim_set_current_win(...)`, (await reviewer.proposals())[0]);
      t.same(await reviewer.nvim.lua("return { vim.b.gemini_diff.role, vim.api.nvim_get_mode().mode }"), [
        "proposal",
        "n",
      ]);
      await reviewer.nvim.input(keys);
      await reviewer.outcome();
      await reviewer.outcomes();
      await reviewer.becomes(t, { ...before, mode: "nt" }, `after ${go} and ${keys}`);
      await reviewer.nvim.input("i");
    }
    await reviewer.nvim.close();
  }
});

t.test(
  "a user who has left Terminal mode for a decision stays in Normal mode, so that keys do not reach the CLI",
  async (t) => {
    const reviewer = await start(t, TERMINAL);
    await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED);
    const second = await reviewer.open(reviewer.nvim.path("b.txt"), "second\n");
    await reviewer.nvim.input("<C-\\><C-n>:GeminiAccept a.txt<CR>");
    await reviewer.outcome();
    await reviewer.nvim.input(":GeminiReject<CR>");
    t.same(await reviewer.outcome(), { name: "diff_rejected", payload: { id: second } });
    await reviewer.nvim.input("");
    t.equal((await reviewer.nvim.nvim.mode).mode, "nt");
    t.notMatch(
      await reviewer.nvim.lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false))"),
      /Gemini/,
    );
  },
);

/** Configuration of a user who starts Terminal mode at each entry into a terminal. */
const ALWAYS_INSERT = "vim.cmd('autocmd BufEnter,WinEnter gemini-terminal://* startinsert')";
const ALWAYS_INSERT_LATER = `vim.api.nvim_create_autocmd({ 'BufEnter', 'WinEnter' }, {
  pattern = 'gemini-terminal://*', callback = vim.schedule_wrap(function() vim.cmd.startinsert() end) })`;

for (const [config, init] of [
  ["", ""],
  [", with automatic insert", ALWAYS_INSERT],
  [", with scheduled automatic insert", ALWAYS_INSERT_LATER],
] as const)
  t.test(`no key that is meant for a proposal reaches a CLI${config}`, async (t) => {
    const reviewer = await start(t, TERMINAL, init);
    const { nvim } = reviewer;
    const where = "{ vim.fn.fnamemodify(vim.b.gemini_diff.filePath, ':t'), vim.api.nvim_get_mode().mode }";
    const ids: number[] = [];
    for (const name of ["a.txt", "b.txt", "c.txt"])
      ids.push(await reviewer.open(nvim.path(name), `new ${name}\n`));
    await nvim.input("<C-\\><C-n>:GeminiReview a.txt<CR>");
    t.match(await nvim.lua("return vim.wo.winbar"), /Proposal for a\.txt · 1 of 3/);
    await nvim.input(":w<CR>");
    t.same(await reviewer.outcome(), {
      name: "diff_accepted",
      payload: { id: ids[0], content: "new a.txt\n" },
    });
    await nvim.waitFor(`vim.deep_equal(${where}, { 'b.txt', 'n' })`, "the next proposal in Normal mode");
    t.match(await nvim.lua("return vim.wo.winbar"), /Proposal for b\.txt · 2 of 3/);
    await nvim.input(":q<CR>");
    t.same(await reviewer.outcome(), { name: "diff_rejected", payload: { id: ids[1] } });
    await nvim.waitFor(`vim.deep_equal(${where}, { 'c.txt', 'n' })`, "the last proposal in Normal mode");
    await nvim.input("ZZ");
    await reviewer.outcome();
    await reviewer.outcomes();
    await nvim.input(":q<CR>y");
    t.same(
      await nvim
        .lua(
          "return vim.tbl_filter(function(b) return vim.bo[b].buftype == 'terminal' end, vim.api.nvim_list_bufs())",
        )
        .then((b) => (b as number[]).length),
      1,
    );
    t.notMatch(
      await nvim.lua(`
        local text = ''
        for _, buf in ipairs(vim.api.nvim_list_bufs()) do
          if vim.bo[buf].buftype == 'terminal' then
            text = text .. table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false))
          end
        end
        return text`),
      /\S/,
      "nothing was typed into the terminal",
    );
  });

t.test(
  "after a decision, the focus moves to the next proposal of the turn unless the user has pressed a key",
  async (t) => {
    const reviewer = await start(t, TERMINAL);
    const { nvim } = reviewer;
    const isIn = (name: string) =>
      nvim
        .lua("return vim.fn.fnamemodify((vim.b.gemini_diff or {}).filePath or '', ':t')")
        .then((now) => now === name);
    const decide = async () => {
      await nvim.input("<C-\\><C-n>:GeminiReview<CR>:w<CR>");
      await reviewer.outcome();
      await reviewer.outcomes();
      await nvim.waitFor("vim.bo.buftype == 'terminal'", "the terminal");
    };
    const client = {
      id: "1",
      terminal: "tests",
      cli: "gemini",
      label: "Gemini CLI",
      name: "x",
      version: "1",
      connectedAt: 0,
      interrupted: false,
      hooks: true,
    };
    const say = (turn: boolean) =>
      reviewer.call("status", {
        state: "running",
        workspace: [],
        clients: [{ ...client, activity: "waiting", turn }],
      });
    await say(true);
    await reviewer.open(nvim.path("a.txt"), PROPOSED, "tests");
    await decide();
    const file = nvim.path("later.txt");
    await nvim.lua("local path = ... vim.defer_fn(function() vim.fn.writefile({}, path) end, 200)", file);
    for (const key of "\\a\\r\\a") await nvim.nvim.request("nvim_input", [key]);
    await waitFor(() => existsSync(file), "a timer, without a request that would wake Neovim");
    t.equal(
      await nvim.lua("return vim.api.nvim_get_mode().mode"),
      "nt",
      "keys for a later proposal do nothing",
    );
    await reviewer.open(nvim.path("b.txt"), PROPOSED, "tests");
    t.ok(await isIn("b.txt"), "they are no reason to stay");
    await nvim.input("\\r");
    await reviewer.outcome();
    await reviewer.outcomes();
    await nvim.input("i");
    await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "Terminal mode");
    t.equal(
      await nvim.lua("return vim.fn.maparg([[\\a]], 'n') .. vim.fn.maparg([[\\r]], 'n')"),
      "",
      "the keys are free",
    );

    await reviewer.open(nvim.path("a.txt"), PROPOSED, "tests");
    await decide();
    await reviewer.open(nvim.path("b.txt"), PROPOSED, "others");
    t.notOk(await isIn("b.txt"), "another CLI proposes");
    await nvim.input(":GeminiReject<CR>");
    await reviewer.outcome();

    await reviewer.open(nvim.path("a.txt"), PROPOSED, "tests");
    await decide();
    await reviewer.open(nvim.path("b.txt"), PROPOSED, "tests");
    t.ok(await isIn("b.txt"), "the same turn goes on");
    await nvim.input(":w<CR>");
    await reviewer.outcome();
    await reviewer.outcomes();
    await nvim.input("k");
    await reviewer.open(nvim.path("c.txt"), PROPOSED, "tests");
    t.notOk(await isIn("c.txt"), "a key was pressed");
    await nvim.input(":GeminiReject<CR>");
    await reviewer.outcome();

    await reviewer.open(nvim.path("a.txt"), PROPOSED, "tests");
    await decide();
    await say(false);
    await reviewer.open(nvim.path("d.txt"), PROPOSED, "tests");
    t.notOk(await isIn("d.txt"), "the turn has ended");
  },
);

t.test("if the CLI closes the focused review, the focus returns to its window in Normal mode", async (t) => {
  const reviewer = await start(t, TERMINAL);
  const before = await reviewer.layout();
  const id = await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED);
  await reviewer.nvim.input("<C-\\><C-n>:GeminiReview<CR>Ax");
  t.equal(await reviewer.close(id), "one\n2x\nthree\n");
  await reviewer.outcomes();
  t.same(
    await reviewer.nvim.lua("return { vim.b.gemini_diff.role, vim.api.nvim_get_mode().mode }"),
    ["proposal", "i"],
    "the user types on in the text that the keys are meant for",
  );
  await reviewer.nvim.input("dd added<Esc>");
  await reviewer.nvim.waitFor("vim.bo.buftype == 'terminal'", "the terminal");
  const { buffers: _, ...layout } = await reviewer.layout();
  t.match({ ...before, mode: "nt" }, layout);
  t.match(
    await reviewer.nvim.messages(),
    /has ended\. Open your edits with :edit gemini:\/\/kept\/1\/a\.txt$/m,
  );
  t.same(
    await reviewer.nvim.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('gemini://kept'), 0, -1, true)"),
    ["one", "2xdd added", "three"],
  );
});

for (const [name, before, after] of [
  ["Insert mode", "A more", "dd<Esc>"],
  ["a command after CTRL-O", "A more<C-o>", "dd<Esc>"],
  ["an operator", "d", "d"],
  ["a register", '"a', "dd"],
  ["a register", '"a', "<Esc>"],
  ["Visual mode", "v", "x"],
  ["linewise Visual mode", "V", "d"],
  ["Select mode", "gh", "x<Esc>"],
  ["the command line", ":", "%d<CR>"],
  ["the command line", ":", "q<CR>"],
  ["the command line", ":", "w<CR>"],
] as const)
  t.test(
    `a CLI that closes its review during ${name} (${before}${after}) does not change the user's file`,
    async (t) => {
      const reviewer = await start(t, "vim.cmd.edit('b.txt')");
      const { nvim } = reviewer;
      const id = await reviewer.open(nvim.path("a.txt"), PROPOSED);
      await nvim.input(`:GeminiReview<CR>${before}`);
      await reviewer.close(id, "disconnected");
      await nvim.input(after);
      await nvim.waitFor(
        "vim.fn.expand('%:t') == 'b.txt' and #vim.api.nvim_list_wins() == 1",
        "the user's window",
      );
      t.same(
        await nvim.lua(
          "return { vim.api.nvim_buf_get_lines(0, 0, -1, true), vim.bo.modified, vim.api.nvim_get_mode().mode }",
        ),
        [["b"], false, "n"],
      );
      t.same(reviewer.received, []);
      t.notMatch(await nvim.messages(), /E\d+:|stack traceback/);
    },
  );

for (const [mode, keys] of [
  ["Insert", "A more<C-g>"],
  ["Replace", "Rx<C-g>"],
  ["Visual", "v<C-g>"],
  ["Select", "gh<C-g>"],
] as const)
  t.test(`${mode} mode ends when the user goes to a review`, async (t) => {
    const map = "vim.keymap.set({ 'i', 'v' }, '<C-g>', '<Cmd>GeminiReview<CR>')";
    const reviewer = await start(t, `${map} vim.cmd.edit('b.txt')`);
    await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED);
    await reviewer.nvim.input(keys);
    t.same(await reviewer.nvim.lua("return { vim.b.gemini_diff.role, vim.api.nvim_get_mode().mode }"), [
      "proposal",
      "n",
    ]);
    await reviewer.nvim.input(":w<CR>");
    await reviewer.outcome();
    await reviewer.outcomes();
    t.same(await reviewer.nvim.lua("return { vim.fn.expand('%:t'), vim.api.nvim_get_mode().mode }"), [
      "b.txt",
      "n",
    ]);
  });

t.test(":GeminiReview goes to the first hunk, and later to the last position", async (t) => {
  const lines = Array.from({ length: 300 }, (_, index) => `${index}\n`).join("");
  const reviewer = await start(t, `vim.cmd.edit('b.txt')`);
  const path = reviewer.nvim.path("long.txt");
  writeFileSync(path, lines);
  await reviewer.nvim.lua(`vim.cmd.edit('long.txt') vim.cmd('40') vim.cmd('normal! zt3l')`);
  const before = await reviewer.layout();
  await reviewer.open(path, lines.replace("\n200\n", "\ntwo hundred\n"));
  t.same(await reviewer.nvim.lua("return vim.api.nvim_win_get_cursor(0)[1]"), 40, "the user is not scrolled");
  await reviewer.nvim.input(":GeminiReview<CR>");
  t.equal(await reviewer.nvim.lua("return vim.api.nvim_get_current_line()"), "two hundred");
  await reviewer.nvim.input("gg:GeminiReject<CR>");
  await reviewer.becomes(t, before);
});

t.test("each proposal shows one message, without a press-enter prompt", async (t) => {
  const reviewer = await start(t, `vim.o.columns = 60 vim.cmd.edit('b.txt')`);
  const params = [1, 2, 3].map((id) => ({
    id,
    filePath: reviewer.nvim.path(`${"deep/".repeat(30)}${id}.txt`),
    newContent: "x\n",
    textId: `${id}`,
    client: "a client with a name that does not end ".repeat(3),
    label: "Gemini CLI",
  }));
  await reviewer.nvim.lua(
    `for _, params in ipairs(...) do require('gemini-bridge.calls').call('diff_open', params) end`,
    params,
  );
  await Promise.all([4, 5].map((id) => reviewer.show({ ...params[0], id } as (typeof params)[0] & object)));
  t.equal((await reviewer.nvim.nvim.mode).blocking, false);
  const messages = (await reviewer.nvim.messages()).trim().split("\n");
  t.equal(messages.length, 5);
  t.match(messages[0], /^gemini-bridge: Gemini CLI proposes a change to .*1\.txt$/);
  t.match(messages[2], /3\.txt \(2 more waiting\)$/);
});
