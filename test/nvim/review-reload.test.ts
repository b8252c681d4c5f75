import { appendFileSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import { Reviewer } from "../support/review.ts";

const FILES = { "a.txt": "one\ntwo\nthree\n", "b.txt": "b\n" };
const PROPOSED = "one\n2\nthree\n";
const TEXT = `table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt'), 0, -1, true), '\\n')`;

async function start(t: Test, init = "", args = ["a.txt"]) {
  const reviewer = await Reviewer.start(t, { files: FILES, args, init });
  return { reviewer, nvim: reviewer.nvim, path: reviewer.nvim.path("a.txt") };
}

/** As the CLI writes: truncated first, the text in pieces. */
function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "");
  for (const part of text.match(/.{1,20}/gs) ?? []) appendFileSync(path, part);
}

for (const init of ["", "vim.o.autoread = false", "vim.o.undoreload = 1", "vim.o.hidden = false"]) {
  for (const wait of [0, 1000]) {
    t.test(`the buffer follows the write ${wait} ms after the accept, ${init || "no options"}`, async (t) => {
      const { reviewer, nvim, path } = await start(t, init);
      await nvim.input("G");
      await reviewer.open(path, PROPOSED);
      await nvim.input(":GeminiAccept<CR>");
      await reviewer.outcome();
      await delay(wait); // the CLI takes its time: this is what is tested
      const before = await nvim.lua("return { vim.o.undoreload, vim.o.autoread }");
      const written = performance.now();
      write(path, PROPOSED);
      await nvim.waitFor(`vim.api.nvim_buf_get_lines(0, 1, 2, true)[1] == '2'`, "the new text", 500);
      t.ok(performance.now() - written < 500, `${Math.round(performance.now() - written)} ms`);
      t.same(await nvim.lua("return { vim.o.undoreload, vim.o.autoread }"), before);
      t.same(await nvim.lua("return vim.api.nvim_win_get_cursor(0)"), [3, 0], "cursor kept");
      t.equal(await nvim.lua("return vim.bo.modified"), false);
      t.equal((await nvim.nvim.mode).blocking, false, "no prompt");
      await nvim.input("u");
      t.equal(await nvim.lua(`return ${TEXT}`), "one\ntwo\nthree", "the old text is one undo away");
    });
  }
}

t.test("a buffer in another window, hidden, or edited in Insert mode elsewhere follows, too", async (t) => {
  for (const keys of [
    ":split b.txt<CR>",
    ":edit b.txt<CR>",
    ":tabedit b.txt<CR>",
    ":edit b.txt<CR>ityping",
  ]) {
    const { nvim, path } = await start(t);
    await nvim.input(keys);
    const mode = await nvim.nvim.mode;
    write(path, PROPOSED);
    await nvim.waitFor(`${TEXT} == 'one\\n2\\nthree'`, "the new text", 500);
    t.same(await nvim.nvim.mode, mode);
  }
});

t.test("a file written without asking is read again when it is open and unmodified", async (t) => {
  const { nvim, path } = await start(t);
  write(path, PROPOSED);
  await nvim.waitFor(`${TEXT} == 'one\\n2\\nthree'`, "the new text", 500);
  writeFileSync(`${path}.new`, "renamed\n");
  renameSync(`${path}.new`, path);
  await nvim.waitFor(`${TEXT} == 'renamed'`, "the new text", 500);
  await nvim.input("u");
  t.equal(await nvim.lua(`return ${TEXT}`), "one\n2\nthree");
});

t.test("unsaved changes are not overwritten by what is written without asking", async (t) => {
  const { nvim, path } = await start(t);
  await nvim.input("Amine<Esc>");
  write(path, PROPOSED);
  await nvim.lua("vim.wait(150)");
  t.equal(await nvim.lua(`return ${TEXT}`), "onemine\ntwo\nthree");
  t.equal((await nvim.nvim.mode).blocking, false);
});

t.test("a new file that is open already follows without a question", async (t) => {
  const { reviewer, nvim } = await start(t, "", ["deep/new.txt"]);
  await reviewer.open(nvim.path("deep/new.txt"), PROPOSED);
  await nvim.input(":GeminiAccept<CR>");
  await reviewer.outcome();
  write(nvim.path("deep/new.txt"), PROPOSED);
  await nvim.waitFor(`vim.api.nvim_buf_get_lines(0, 1, 2, false)[1] == '2'`, "the new text", 500);
  t.equal((await nvim.nvim.mode).blocking, false);
  write(nvim.path("deep/new.txt"), "again\n");
  await nvim.waitFor(`vim.api.nvim_buf_get_lines(0, 0, 1, false)[1] == 'again'`, "the newer text", 500);
});

t.test("folds made by hand and other windows stay where they are", async (t) => {
  const { nvim, path } = await start(t);
  const long = Array.from({ length: 200 }, (_, index) => `line ${index}\n`).join("");
  writeFileSync(path, long);
  await nvim.command("edit!");
  await nvim.lua(
    `vim.wo.foldmethod = 'manual' vim.cmd('10,20fold') vim.cmd('split') vim.cmd('150') vim.cmd('normal! zt')`,
  );
  const before = await nvim.lua("return vim.fn.winsaveview()");
  write(path, long.replace("line 199\n", "last\n"));
  await nvim.waitFor(`vim.fn.getline('$') == 'last'`, "the new text", 500);
  t.same(await nvim.lua("return vim.fn.winsaveview()"), before);
  t.equal(await nvim.lua("return vim.fn.foldclosed(15)"), 10);
});

t.test("unsaved changes: accept refuses, and says what to do", async (t) => {
  for (const keys of [":GeminiAccept<CR>", "<C-w>w:w<CR>", "<C-w>w:wq<CR>", "<C-w>wZZ"]) {
    const { reviewer, nvim, path } = await start(t);
    await nvim.input("Amine<Esc>");
    await reviewer.open(path, PROPOSED);
    t.match(await nvim.lua(`return vim.wo[...].winbar`, (await reviewer.proposals())[0]), /unsaved changes/);
    await nvim.input(keys);
    t.same(await reviewer.outcomes(), []);
    t.match(
      await nvim.messages(),
      /a\.txt has unsaved changes: save or discard them first, or :GeminiAccept!/,
    );
    t.equal((await reviewer.proposals()).length, 1);
    t.equal(await nvim.lua(`return ${TEXT}`), "onemine\ntwo\nthree");
  }
});

t.test("unsaved changes that came after the proposal count, too", async (t) => {
  const { reviewer, nvim, path } = await start(t);
  await reviewer.open(path, PROPOSED);
  await nvim.input("Amine<Esc>:GeminiAccept<CR>");
  t.same(await reviewer.outcomes(), []);
  await nvim.input("u:GeminiAccept<CR>");
  t.equal((await reviewer.outcome()).name, "diff_accepted");
});

for (const keys of [":GeminiAccept!<CR>", "<C-w>w:w!<CR>"]) {
  t.test(`${keys} gives unsaved changes up, one undo away`, async (t) => {
    const { reviewer, nvim, path } = await start(t);
    await nvim.input("Amine<Esc>");
    const id = await reviewer.open(path, PROPOSED);
    await nvim.input(keys);
    t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: PROPOSED } });
    write(path, PROPOSED);
    await nvim.waitFor(`${TEXT} == 'one\\n2\\nthree'`, "the new text", 500);
    t.equal((await nvim.nvim.mode).blocking, false);
    t.equal(await nvim.lua(`return vim.bo[vim.fn.bufnr('a.txt')].modified`), false);
    await nvim.input("u");
    t.equal(await nvim.lua(`return ${TEXT}`), "onemine\ntwo\nthree");
  });
}

t.test("what was typed after :GeminiAccept! is not given up", async (t) => {
  const { reviewer, nvim, path } = await start(t);
  await nvim.input("Amine<Esc>");
  await reviewer.open(path, PROPOSED);
  await nvim.input(":GeminiAccept!<CR>Amore<Esc>");
  await reviewer.outcome();
  write(path, PROPOSED);
  await nvim.lua("vim.wait(150)");
  t.equal(await nvim.lua(`return ${TEXT}`), "oneminemore\ntwo\nthree");
});

t.test("watching costs nothing while nothing happens", async (t) => {
  const { reviewer, nvim, path } = await start(t);
  await reviewer.open(path, PROPOSED);
  await nvim.lua("vim.wait(100)");
  const usage = async () =>
    Number(
      await nvim.lua(
        "local u = vim.uv.getrusage() return (u.utime.sec + u.stime.sec) * 1e6 + u.utime.usec + u.stime.usec",
      ),
    );
  const before = await usage();
  await delay(1000); // idle on purpose
  const spent = (await usage()) - before;
  t.ok(spent < 10_000, `${spent} us of processor time in an idle second`);
});
