import { readFileSync, statSync, writeFileSync } from "node:fs";
import t, { type Test } from "tap";
import { shareNvim } from "../support/reset.ts";
import { startReviewer } from "../support/review.ts";

shareNvim(t);

const OPTIONS = ["fileencoding", "fileformat", "bomb", "endofline"];

/** Starts a Neovim that shows a file, and an agent that writes this file. */
async function start(t: Test, bytes: string | Buffer, init = "") {
  const { reviewer, nvim } = await startReviewer(t, { files: { "a.txt": bytes }, args: ["a.txt"], init });
  const path = nvim.path("a.txt");
  return {
    nvim,
    path,
    lines: () => nvim.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt'), 0, -1, true)"),
    /** Writes the file as the agent. Returns after the buffer was reloaded. Does not wait if the file is now empty. */
    async write(bytes: string | Buffer): Promise<void> {
      writeFileSync(path, bytes);
      await reviewer.call("file_changed", { path });
    },
    undoEntries: () => nvim.lua("return #vim.fn.undotree(vim.fn.bufnr('a.txt')).entries"),
  };
}

/**
 * Lua that empties the file `...`, and writes the text after it, if there is one. Reports each write. No timer of Neovim
 * runs between the writes.
 */
const EMPTY_AND_FILL = `local path, text = ...
  for _, bytes in ipairs({ '', text }) do
    local file = assert(io.open(path, 'w'))
    file:write(bytes)
    file:close()
    require('gemini-bridge.disk.reload').written({ path = path })
  end`;

const utf16 = (text: string) => Buffer.from(`\uFEFF${text}`, "utf16le");

for (const [what, before, after, wanted] of [
  ["Latin-1 becomes UTF-8", Buffer.from("café\n", "latin1"), Buffer.from("café ü\n"), ["utf-8", "unix"]],
  ["UTF-8 becomes Latin-1", Buffer.from("café\n"), Buffer.from("café ü\n", "latin1"), ["latin1", "unix"]],
  ["UTF-8 becomes UTF-16", Buffer.from("café\n"), utf16("café ü\n"), ["utf-16le", "unix"]],
  ["UTF-16 becomes UTF-8", utf16("café\n"), Buffer.from("café ü\n"), ["utf-8", "unix"]],
  ["LF becomes CRLF", Buffer.from("café\n"), Buffer.from("café ü\r\n"), ["utf-8", "dos"]],
  ["CRLF becomes LF", Buffer.from("café\r\n"), Buffer.from("café ü\n"), ["utf-8", "unix"]],
  ["the final line break goes", Buffer.from("café\n"), Buffer.from("café ü"), ["utf-8", "unix"]],
  ["a byte order mark comes", Buffer.from("café\n"), Buffer.from("\uFEFFcafé ü\n"), ["utf-8", "unix"]],
] as const) {
  t.test(`a reload detects encoding and line endings again: ${what}`, async (t) => {
    const { nvim, path, lines, write } = await start(t, before, "vim.o.fixendofline = false");
    await write(after);
    t.same(await lines(), ["café ü"]);
    t.same(await nvim.lua("return { vim.bo.fileencoding, vim.bo.fileformat }"), wanted);
    t.equal(await nvim.lua("return vim.bo.modified"), false);
    await nvim.command("silent write");
    t.same(readFileSync(path), after, "the next :w writes the same bytes");
    const asRead = await nvim.lua("return vim.tbl_map(function(name) return vim.bo[name] end, ...)", OPTIONS);
    await nvim.command("silent edit!");
    t.same(
      await nvim.lua("return vim.tbl_map(function(name) return vim.bo[name] end, ...)", OPTIONS),
      asRead,
      "as Neovim itself reads it",
    );
  });
}

t.test(
  "a reload of a buffer is one undo step, whatever was edited before and after the reload",
  async (t) => {
    const { nvim, lines, write } = await start(t, "one\ntwo\nthree\nfour\n");
    await nvim.input("Amine<Esc>:silent write<CR>");
    await write("ONE\nonemine\nthree\nFOUR\n");
    await nvim.input("Gohers<Esc>u");
    t.same(await lines(), ["ONE", "onemine", "three", "FOUR"]);
    await nvim.input("u");
    t.same(await lines(), ["onemine", "two", "three", "four"]);
    t.equal(await nvim.lua("return vim.bo.modified"), true, "which is not on disk");
    await nvim.input("u");
    t.same(await lines(), ["one", "two", "three", "four"]);
    await nvim.input("<C-r><C-r>");
    t.same(await lines(), ["ONE", "onemine", "three", "FOUR"]);
  },
);

t.test("after a reload of an empty file, the cursors of all windows are where they were", async (t) => {
  const { nvim, lines, write } = await start(t, "");
  await nvim.command("split");
  const cursors =
    "return vim.tbl_map(vim.api.nvim_win_get_cursor, vim.fn.win_findbuf(vim.fn.bufnr('a.txt')))";
  for (const text of ["one\ntwo\n", "", "three\nfour\n"]) {
    await write(text);
    const wanted = text === "" ? [""] : text.trimEnd().split("\n");
    await nvim.waitFor(async () => `${await lines()}` === `${wanted}`, "the new text");
    t.same(await nvim.lua(cursors), [
      [1, 0],
      [1, 0],
    ]);
  }
});

t.test("an empty file and a file with one line break are not confused after a reload", async (t) => {
  const { nvim, path, write } = await start(t, "one\n");
  for (const text of ["", "\n", "", "two\n", "\n"]) {
    await write(text);
    await nvim.waitFor(
      async () => (await nvim.lua("return vim.fn.wordcount().bytes")) === text.length,
      `the text ${JSON.stringify(text)}`,
    );
    await nvim.command("silent write");
    t.equal(readFileSync(path, "utf8"), text);
  }
  await nvim.command("silent undo | silent undo | silent write");
  t.equal(readFileSync(path, "utf8"), "", "undo restores an empty text");
});

t.test("the cursor stays if a program empties a file before it writes the new text", async (t) => {
  const { nvim, path, lines, write } = await start(t, "one\ntwo\nthree\n");
  await nvim.input("G");
  await nvim.lua(EMPTY_AND_FILL, path, "ONE\ntwo\nthree\n");
  t.same(await lines(), ["ONE", "two", "three"]);
  t.same(await nvim.lua("return vim.api.nvim_win_get_cursor(0)"), [3, 0]);
  await write("");
  await nvim.waitFor(async () => `${await lines()}` === "", "a file that stays empty");
  t.equal(await nvim.lua("return vim.bo.modified"), false);
});

t.test("if the user may lose unsaved changes, an emptied file causes no warning", async (t) => {
  const { nvim, path, lines } = await start(t, "one\n");
  await nvim.input("Amine<Esc>");
  await nvim.lua("require('gemini-bridge.disk.reload').give_up_changes(vim.api.nvim_get_current_buf())");
  await nvim.lua(EMPTY_AND_FILL, path, "accepted\n");
  t.same(await lines(), ["accepted"]);
  t.equal(await nvim.lua("return vim.bo.modified"), false);
  t.notMatch(await nvim.messages(), /changed on disk/);
});

t.test("after the user has undone unsaved changes, the buffer follows the file again", async (t) => {
  const { nvim, lines, write } = await start(t, "one\n");
  for (const [undo, text] of [
    ["u", "agent"],
    [":edit!<CR>", "agent again"],
  ] as const) {
    await nvim.input("ccmine<Esc>");
    await nvim.command("messages clear");
    await write(`${text}\n`);
    await nvim.says("a.txt has changed on disk, but you have unsaved changes");
    t.same(await lines(), ["mine"]);
    await nvim.input(undo);
    await nvim.waitFor(async () => String(await lines()) === text, `the new text after ${undo}`);
  }
});

t.test("a warning comes if the user edits a file that was emptied a moment ago", async (t) => {
  const { nvim, path, lines } = await start(t, "one\n");
  await nvim.lua(`${EMPTY_AND_FILL} vim.api.nvim_buf_set_text(0, 0, 3, 0, 3, { 'mine' })`, path);
  await nvim.says(/a\.txt has changed on disk, but/);
  t.same(await lines(), ["onemine"]);
});

t.test("after a reload, Neovim neither asks nor warns about the file", async (t) => {
  const { nvim, path, write } = await start(t, "one\n", "vim.o.autoread = false");
  await write("one\ntwo\n");
  await nvim.lua("vim.cmd.checktime()");
  await nvim.input("Gothree<Esc>:write<CR>");
  t.equal((await nvim.nvim.mode).blocking, false);
  t.equal(readFileSync(path, "utf8"), "one\ntwo\nthree\n");
  t.notMatch(await nvim.messages(), /W1\d|E\d+:|changed since/);
});

t.test("after a reload, cursors, marks, folds and extmarks of all windows stay at their text", async (t) => {
  const text = Array.from({ length: 300 }, (_, index) => `line ${index + 1}`);
  const { nvim, write } = await start(t, `${text.join("\n")}\n`);
  await nvim.lua(`
    vim.wo.foldmethod = 'manual'
    vim.cmd('20,30fold') vim.cmd('160mark a') vim.cmd('100') vim.cmd('normal! zt3l')
    vim.cmd('split') vim.cmd('200') vim.cmd('normal! zb2l')
    vim.cmd('tab split') vim.cmd('250') vim.cmd('normal! zz')
    mark = vim.api.nvim_buf_set_extmark(0, vim.api.nvim_create_namespace('test'), 179, 2, {})
    function seen()
      local windows = vim.tbl_map(function(win)
        local view = vim.api.nvim_win_call(win, vim.fn.winsaveview)
        local fold = vim.api.nvim_win_call(win, function() return vim.fn.foldclosed(27) end)
        return { vim.fn.getbufoneline('a.txt', view.lnum), view.col, fold }
      end, vim.api.nvim_list_wins())
      local row, col = unpack(vim.api.nvim_buf_get_extmark_by_id(0, vim.api.nvim_create_namespace('test'), mark, {}))
      return { windows, vim.fn.getline("'a"), vim.fn.getline(row + 1), col }
    end`);
  const before = await nvim.lua("return seen()");
  const changed = [...text.slice(0, 9), "new", "newer", ...text.slice(9, 49), ...text.slice(50)];
  changed[290] = "another";
  await write(`${changed.join("\n")}\n`);
  t.equal(await nvim.lua("return vim.fn.getline(291)"), "another");
  const moved = JSON.stringify(before).replaceAll(/,20\]/g, ",22]");
  t.equal(JSON.stringify(await nvim.lua("return seen()")), moved);
});

t.test(
  "a reload of a buffer in Insert mode or without 'modifiable' does not change the mode or the option",
  async (t) => {
    const { nvim, lines, write } = await start(t, "one\ntwo\n");
    await nvim.input("i");
    await write("one\n2\n");
    t.equal((await nvim.nvim.mode).mode, "i");
    await nvim.input("<Esc>");
    await nvim.lua("vim.bo.modifiable, vim.bo.readonly = false, true");
    await write("one\nthree\n");
    t.same(await lines(), ["one", "three"]);
    t.same(await nvim.lua("return { vim.bo.modifiable, vim.bo.readonly }"), [false, true]);
    t.notMatch(await nvim.messages(), /W10|E\d+:/);
  },
);

t.test("a reload fires its autocommands once, and fires no autocommands of a write", async (t) => {
  const { nvim, write } = await start(
    t,
    "one\n",
    `told = {}
    vim.api.nvim_create_autocmd({ 'FileChangedShellPost', 'BufWritePre', 'BufWritePost', 'FileReadPost' }, {
      callback = function(args) table.insert(told, { args.event, vim.fs.basename(args.file) }) end,
    })`,
  );
  await write("two\n");
  await write("two\n");
  t.same(await nvim.lua("return told"), [["FileChangedShellPost", "a.txt"]]);
});

t.test("the plugin does not reload a file that autocommands read and write", async (t) => {
  const { nvim, lines, path, write } = await start(
    t,
    "raw one\n",
    `vim.api.nvim_create_autocmd('BufReadCmd', { pattern = '*.txt', callback = function(args)
      local lines = vim.fn.readfile(args.file)
      vim.api.nvim_buf_set_lines(args.buf, 0, -1, true, vim.tbl_map(function(line) return 'shown ' .. line end, lines))
    end })
    vim.api.nvim_create_autocmd('BufWriteCmd', { pattern = '*.txt', callback = function(args)
      vim.fn.writefile({ 'written by the autocommand' }, args.file)
    end })`,
  );
  await write("raw two\n");
  t.same(await lines(), ["shown raw two"]);
  t.equal(readFileSync(path, "utf8"), "raw two\n");
  t.equal(await nvim.lua("return vim.bo.modified"), false);
});

t.test("events that the user ignores do not make a reload write the file", async (t) => {
  const { nvim, lines, path, write } = await start(t, "one\n");
  await nvim.lua("vim.o.eventignore = 'all'");
  const written = write("two\n");
  const { mtimeMs } = statSync(path);
  await written;
  t.same(await lines(), ["two"]);
  t.equal(statSync(path).mtimeMs, mtimeMs);
  t.equal(await nvim.lua("return vim.o.eventignore"), "all");
});

t.test("the cost of a reload depends on the size of the change: 40 lines appended to 5 MB", async (t) => {
  const line = `${"x".repeat(80)}\n`;
  const long = line.repeat(60_000);
  const { nvim, write, undoEntries } = await start(t, long);
  await nvim.lua("collectgarbage() started = vim.uv.resident_set_memory()");
  let text = long;
  for (let count = 0; count < 40; count++) {
    text += `line ${count}\n`;
    await write(text);
  }
  t.equal(await nvim.lua("return vim.fn.getline('$')"), "line 39");
  const grown = Number(
    await nvim.lua("collectgarbage() return (vim.uv.resident_set_memory() - started) / 1e6"),
  );
  t.ok(grown < 40, `${Math.round(grown)} MB`);
  t.equal(await undoEntries(), 40);
  await nvim.input("u");
  t.equal(await nvim.lua("return vim.fn.getline('$')"), "line 38");
});

t.test("a completely different text is reloaded with a single edit", async (t) => {
  const lines = (word: string) => Array.from({ length: 20_000 }, (_, index) => `${word} ${index}\n`).join("");
  const { nvim, write, undoEntries } = await start(t, lines("old"));
  await write(lines("new"));
  t.equal(await nvim.lua("return vim.fn.getline('$')"), "new 19999");
  t.equal(await undoEntries(), 1);
});
