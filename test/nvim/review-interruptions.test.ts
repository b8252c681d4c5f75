/** Tests that the user is not interrupted when reviews open and end and when files are reloaded. */
import { rmSync, writeFileSync } from "node:fs";
import t, { type Test } from "tap";
import { shareNvim } from "../support/reset.ts";
import { startReviewer } from "../support/review.ts";

shareNvim(t);

const FILES = { "a.txt": "a\n", "b.txt": "one\ntwo\nthree\nfour\nfive\n", "c.txt": "c\n" };
const LINES = "return vim.api.nvim_buf_get_lines(0, 0, -1, true)";

async function start(t: Test, init = "") {
  const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["b.txt"], init });
  await nvim.lua("vim.fn.bufload(vim.fn.bufadd('c.txt'))");
  return {
    reviewer,
    nvim,
    /** Opens and decides a review, closes another review, and writes a loaded file. */
    async interrupt(): Promise<void> {
      await reviewer.open(nvim.path("a.txt"), "proposed\n");
      await nvim.lua("require('gemini-bridge').reject()");
      const id = await reviewer.open(nvim.path("b.txt"), "proposed\n");
      writeFileSync(nvim.path("c.txt"), "written\n");
      await reviewer.call("file_changed", { path: nvim.path("c.txt") });
      await reviewer.close(id);
    },
  };
}

const INTERRUPTED: [what: string, before: string, after: string, lines: string[]][] = [
  ["an operator", "d", "j", ["three", "four", "five"]],
  ["a count", "2", "dd", ["three", "four", "five"]],
  ["a count of an operator", "d2", "j", ["four", "five"]],
  ["a register", '"x', 'yyj:let @y = @x<CR>"yp', ["one", "two", "one", "three", "four", "five"]],
  ["a text object", "di", "w", ["", "two", "three", "four", "five"]],
  ["a search", "/thr", "<CR>dd", ["one", "two", "four", "five"]],
  ["a repeated change", "ddj", ".", ["two", "four", "five"]],
  ["a macro that is recorded", "qxA!<Esc>", "jq@x", ["one!", "two!", "three", "four", "five"]],
  ["a macro that was recorded", "qxA!<Esc>jq", "2@x", ["one!", "two!", "three!", "four", "five"]],
  ["a selection", "vj", "d", ["wo", "three", "four", "five"]],
  ["a block", "<C-v>j", "d", ["ne", "wo", "three", "four", "five"]],
  ["an inserted text", "Ax", "y<Esc>u", ["one", "two", "three", "four", "five"]],
  ["a replaced text", "Rx", "y<Esc>", ["xye", "two", "three", "four", "five"]],
  ["the unnamed register", "dd", "P", ["one", "two", "three", "four", "five"]],
];
for (const [what, before, after, lines] of INTERRUPTED)
  t.test(`${what} continues while reviews open and close`, async (t) => {
    const { nvim, interrupt } = await start(t);
    await nvim.input(before);
    // After a count or a register, Neovim reads the next key before it answers requests.
    const { blocking } = await nvim.nvim.mode;
    const interrupted = interrupt();
    if (!blocking) await interrupted;
    await nvim.input(after);
    await interrupted;
    t.same(await nvim.lua(LINES), lines);
    t.notMatch(await nvim.messages(), /E\d+:|stack traceback/);
  });

t.test("a completion menu stays open while reviews open and close", async (t) => {
  const { nvim, interrupt } = await start(t);
  await nvim.input("othr<C-n>");
  await nvim.input("<C-n>");
  const menu = "return { vim.fn.mode(1), vim.fn.complete_info({ 'mode', 'items' }).mode }";
  const before = await nvim.lua(menu);
  await interrupt();
  t.same(await nvim.lua(menu), before);
});

t.test("a window with 'winfixbuf' keeps its buffer during reviews", async (t) => {
  const { reviewer, nvim } = await start(t);
  await nvim.input(":set winfixbuf<CR>:vsplit<CR>:set winfixbuf<CR>");
  const before = await reviewer.layout();
  const id = await reviewer.open(nvim.path("a.txt"), "proposed\n");
  t.equal((await reviewer.proposals()).length, 1);
  t.equal(await nvim.lua("return #vim.fn.win_findbuf(vim.fn.bufnr('b.txt'))"), 2);
  await reviewer.close(id);
  await reviewer.becomes(t, before);
});

t.test("reviews work in a deleted directory", async (t) => {
  const { reviewer, nvim } = await start(t);
  await nvim.lua("vim.fn.mkdir('gone') vim.fn.chdir('gone')");
  rmSync(nvim.path("gone"), { recursive: true });
  const id = await reviewer.open(nvim.path("a.txt"), "proposed\n");
  await nvim.input(":GeminiReview<CR>Aedited<Esc>:w<CR>");
  t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: "proposededited\n" } });
  t.notMatch(await nvim.messages(), /E\d+:|stack traceback/);
});

/** Lua that returns the number of each kind of resource that a review creates. */
const RESOURCES = `
  collectgarbage() collectgarbage()
  local marks = 0
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    marks = marks + (vim.api.nvim_buf_is_loaded(buf) and #vim.api.nvim_buf_get_extmarks(buf, -1, 0, -1, {}) or 0)
  end
  return {
    #vim.api.nvim_list_bufs(), #vim.api.nvim_list_wins(), #vim.api.nvim_get_autocmds({}), marks,
    vim.on_key(), vim.fn.undotree(vim.fn.bufnr('c.txt')).seq_last,
  }`;

t.test("sixty reviews and sixty writes leave no resources behind", async (t) => {
  const { reviewer, nvim, interrupt } = await start(t);
  await interrupt();
  await reviewer.outcomes();
  const resources = async () => (await nvim.lua(RESOURCES)) as number[];
  const before = await resources();
  for (let round = 0; round < 30; round++) await interrupt();
  for (let write = 0; write < 60; write++) {
    writeFileSync(nvim.path("c.txt"), `written ${write}\n`);
    await reviewer.call("file_changed", { path: nvim.path("c.txt") });
  }
  await reviewer.outcomes();
  const after = await resources();
  t.same(after.slice(0, -1), before.slice(0, -1));
  t.equal(Number(after.at(-1)) - Number(before.at(-1)), 60, "one undo step for each write");
});

t.test("two hundred pending reviews do not slow down typing", async (t) => {
  const { reviewer, nvim } = await start(t);
  for (let n = 0; n < 200; n++) await reviewer.open(nvim.path(`new-${n}.txt`), `${n}\n`);
  const usage = async () =>
    Number(await nvim.lua("local u = vim.uv.getrusage() return u.utime.sec * 1e3 + u.utime.usec / 1e3"));
  await nvim.input("jk".repeat(10));
  const before = await usage();
  await nvim.input("jk".repeat(250));
  const perKey = ((await usage()) - before) / 500;
  t.ok(perKey < 2, `${perKey} ms of processor time per key`);
  t.comment(`${perKey} ms per key`);
});
