/** Tests the review page, on which single keys make all decisions. */
import { existsSync, renameSync, writeFileSync } from "node:fs";
import t from "tap";
import { z } from "zod";
import { sharePage, startPage } from "../support/page.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);
const open = sharePage(t);

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `${index + 1}\n`).join("");
const text = numbered(20);
/** A text with three hunks: a changed line, an added line, and two removed lines. */
const changed = text.replace("3\n", "three\n").replace("10\n", "10\nmore\n").replace("16\n17\n", "");

t.test(
  "single keys on the review page decide a hunk and go to the next hunk, in several files",
  async (t) => {
    const page = await open(t, {
      files: { "a.txt": "a\n", "src/b.txt": text, "src/c.txt": "c\n", "gone.txt": "old\n" },
      args: ["a.txt"],
    });
    const { nvim, agent, read } = page;
    await agent.prompt("first things");
    await agent.write("src/c.txt", "C\n");
    await agent.prompt("count");
    await agent.write("src/b.txt", changed);
    await agent.write("gone.txt", undefined);
    await agent.write("new.txt", "new\n");
    await page.changed(4);
    await nvim.input(":GeminiChanges<CR>");
    await page.shows(
      t,
      "▾ count +3 -4 0/5",
      " ▾ src +2 -3 0/3",
      "  ● b.txt +2 -3 0/3",
      " ● gone.txt +0 -1 0/1",
      " ● new.txt +1 -0 0/1",
      "▾ first things +1 -1 0/1",
      " ▾ src +1 -1 0/1",
      "  ● c.txt +1 -1 0/1",
    );
    await page.is(t, "*page:3", "b.txt:3");
    t.equal(await nvim.lua("return vim.bo[vim.fn.bufnr('b.txt')].filetype"), "text", "an ordinary buffer");
    const label = await nvim.lua("return vim.fn.pathshorten(vim.api.nvim_buf_get_name(0))");
    t.equal(label, "g//changes", "the label of the tab page names the command");

    await nvim.input("s");
    await page.is(t, "*page:3", "b.txt:11");
    await nvim.input("x");
    await page.is(t, "*page:3", "b.txt:15");
    await nvim.says(/Undid 1 hunk in b\.txt/);
    t.equal(read("src/b.txt"), changed.replace("more\n", ""));
    await page.shows(
      t,
      "▾ count +1 -3 2/5",
      " ▾ src +0 -2 2/3",
      "  ● b.txt +0 -2 2/3",
      " ● gone.txt +0 -1 0/1",
      " ● new.txt +1 -0 0/1",
      "▾ first things +1 -1 0/1",
      " ▾ src +1 -1 0/1",
      "  ● c.txt +1 -1 0/1",
    );
    await nvim.input("x");
    await page.is(t, "*page:4", "gone.txt:1");
    t.equal(await nvim.lua("return vim.fn.bufname(vim.fn.winbufnr(2))"), "gemini-deleted://gone.txt");
    await nvim.input("x");
    await page.is(t, "*page:5", "new.txt:1");
    await nvim.waitFor(() => existsSync(nvim.path("gone.txt")), "the deleted file to be back");
    await nvim.input("X");
    await page.is(t, "*page:8", "c.txt:1");
    await nvim.waitFor(() => !existsSync(nvim.path("new.txt")), "the new file to go");
    await nvim.input("s");
    await nvim.says(/No unreviewed changes are left/);
    await page.changed(0);
    t.equal(read("src/b.txt"), text.replace("3\n", "three\n"));
    t.equal(read("gone.txt"), "old\n");
    t.equal(read("src/c.txt"), "C\n");

    await nvim.input("u");
    await page.changed(1);
    await nvim.input("u");
    await nvim.waitFor(() => existsSync(nvim.path("new.txt")), "the new file to be back");
    await nvim.says(/Restored and unreviewed again: 1 hunk in new\.txt/);
    t.equal(read("new.txt"), "new\n");
    await nvim.input("q");
    await page.is(t, "*a.txt:1");
    t.equal(await nvim.lua("return #vim.api.nvim_list_tabpages()"), 1);
    t.equal(await nvim.lua("return vim.fn.bufnr('src/b.txt')"), -1, "no buffers stay behind");
    t.notMatch(await nvim.messages(), /[EW]\d+:|got in the way/);
  },
);

t.test("fast keys decide one hunk after the other", async (t) => {
  const page = await startPage(t, { files: { "a.txt": text, "b.txt": "b\n" }, args: ["b.txt"] });
  const { nvim, agent, read } = page;
  await agent.write("a.txt", changed);
  await page.changed(1);
  await nvim.input(":GeminiChanges<CR>");
  await page.is(t, "page:2", "*a.txt:3");
  await nvim.input("\\s\\x\\s");
  await page.changed(0);
  t.equal(read("a.txt"), changed.replace("more\n", ""));
  await nvim.input("\\u\\u\\u");
  await page.lists(t, "a.txt modified +2 -3 3");
  await page.is(t, "page:2", "*a.txt:3");
});

t.test("the status line, status() and lualine show the number of undecided changes", async (t) => {
  const page = await startPage(t, {
    files: { "a.txt": text, "b.txt": "b\n" },
    init: `vim.o.laststatus, vim.o.statusline = 2, "%{v:lua.require'gemini-bridge'.statusline()}"
      package.preload['lualine.component'] = function()
        return { extend = function(self) return setmetatable({}, { __index = self }) end }
      end`,
  });
  const { nvim, agent } = page;
  const shows = async (line: string, files: number, hunks: number) => {
    const drawn = () => nvim.lua("return vim.trim(vim.api.nvim_eval_statusline(vim.o.statusline, {}).str)");
    const counts = `{ files = ${files}, hunks = ${hunks} }`;
    await nvim.waitFor(`vim.deep_equal(require('gemini-bridge.changes.changes').count(), ${counts})`, counts);
    t.equal(await drawn(), line);
    t.equal(await nvim.lua("return require('lualine.components.gemini'):update_status()"), line);
  };
  await shows("Gemini: waiting", 0, 0);
  await agent.write("a.txt", changed);
  await agent.write("b.txt", "B\n");
  await shows("Gemini: 2 changes", 2, 4);
  await nvim.command("GeminiChanges");
  await page.is(t, "*page:2", "a.txt:3");
  await nvim.input("s");
  await shows("Gemini: 2 changes", 2, 3);
  await nvim.input("X");
  await shows("Gemini: 1 change", 1, 1);
  await page.is(t, "*page:3", "b.txt:1");
  await nvim.input("s");
  await shows("Gemini: waiting", 0, 0);
});

t.test("if only one file has changed, the review page focuses that file", async (t) => {
  const page = await open(t, {
    files: { "a.txt": "a\n", "b.txt": text },
    args: ["a.txt"],
    init: "vim.keymap.set('n', 'gz', '<Cmd>let g:mine = 1<CR>')",
  });
  const { nvim, agent, read } = page;
  await agent.write("b.txt", changed);
  await page.changed(1);
  await nvim.command("vsplit | edit b.txt | lua vim.keymap.set('n', '[h', 'G', { buffer = 0 })");
  const layout = await page.windows();
  await nvim.input(":GeminiChanges<CR>");
  await page.is(t, "page:2", "*b.txt:3");
  const old = `(function()
    local namespace = vim.api.nvim_get_namespaces()['gemini-bridge.old_lines']
    return vim.iter(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true }))
      :map(function(mark) return mark[4].virt_lines and mark[4].virt_lines[1][1][1] end)
      :totable()
  end)()`;
  await nvim.waitFor(`#${old} == 2`, "the old lines");
  t.same(await nvim.lua(`return ${old}`), ["3", "16"]);
  await nvim.lua("vim.keymap.set('n', ']h', '5G', { buffer = 0, desc = 'of a plugin that attaches later' })");
  await nvim.input("]h");
  await page.is(t, "page:2", "*b.txt:11");
  await nvim.input("\\s");
  await page.is(t, "page:2", "*b.txt:16");
  await nvim.says(/Kept 1 hunk/);
  await nvim.input("[h");
  await page.is(t, "page:2", "*b.txt:3");

  await nvim.input("Amine<Esc>");
  await nvim.input("u");
  t.equal(await nvim.lua("return vim.fn.getline(3)"), "three", "u is Neovim's own");
  await nvim.input("\\x");
  await nvim.says(/Undid 1 hunk/);
  await nvim.waitFor("vim.fn.getline(3) == '3'", "the undone line");
  await nvim.input("\\u");
  await nvim.says(/Restored and unreviewed again: 1 hunk/);
  await nvim.waitFor("vim.fn.getline(3) == 'three'", "the decision to be reverted");
  t.equal(read("b.txt"), changed);
  t.equal(await nvim.lua("return vim.bo.modified"), false);

  await nvim.input("q");
  t.same(await page.windows(), layout);
  await nvim.input("gg[h");
  t.equal(await nvim.lua("return vim.fn.line('.')"), 19, "the user's map is back");
  await nvim.input("]h");
  t.equal(await nvim.lua("return vim.fn.line('.')"), 5, "what was mapped meanwhile comes back");
  t.equal(await nvim.lua(`return #${old}`), 0, "the old lines are gone");
  t.equal(await nvim.lua("return vim.fn.maparg('q', 'n')"), "");
});

t.test("undoing a turn asks for confirmation, and can be reverted", async (t) => {
  const names = Array.from({ length: 12 }, (_, index) => `f${index}.txt`);
  const page = await open(t, { files: Object.fromEntries(names.map((name) => [name, text])) });
  const { nvim, agent, read } = page;
  await agent.prompt("first");
  await agent.write("f0.txt", changed);
  await agent.prompt("second");
  for (const name of names) await agent.write(name, `top\n${read(name)}`);
  await page.changed(12);
  await nvim.lua(`vim.ui.select = function(items, opts, choose)
    vim.g.asked = opts.prompt .. ' ' .. opts.kind
    choose(vim.g.answer and items[vim.g.answer])
  end`);
  await nvim.input(":GeminiUndo turn<CR>");
  t.equal(await nvim.lua("return vim.g.asked"), "Undo the changes in 12 files? gemini-bridge");
  await nvim.command("let g:answer = 1");
  await nvim.input(":GeminiUndo turn<CR>");
  await nvim.says(/Undid 12 hunks in 12 files/);
  await page.changed(1);
  t.equal(read("f0.txt"), changed, "what the turn before has changed stays");
  t.equal(read("f7.txt"), text);

  await nvim.input(":GeminiChanges<CR>");
  await page.shows(t, "▾ first +2 -3 1/4", " ● f0.txt +2 -3 1/4");
  await nvim.input("<C-w>t");
  await nvim.input("u");
  await page.changed(12);
  t.equal(read("f7.txt"), `top\n${text}`);
  t.match(await page.tree(), ["▾ second +14 -3 0/15"]);
  await nvim.input("G");
  await nvim.input(":GeminiKeep turn<CR>");
  await page.changed(1);
  t.match(await page.tree(), { length: 14 }, "decided files stay on the page");
  await nvim.command("unlet g:answer g:asked");
  await nvim.command("GeminiUndo all");
  await page.changed(0);
  t.equal(await nvim.lua("return vim.g.asked"), null, "one file is undone without a question");
  t.equal(read("f0.txt"), `top\n${text}`);
});

t.test("large files are loaded on the review page on request", async (t) => {
  const page = await open(t, { files: { "a.txt": "a\n" }, args: ["a.txt"] });
  const { nvim, agent } = page;
  await agent.write("big.txt", "x".repeat(1023).concat("\n").repeat(1100));
  await agent.write("a.txt", "A\n");
  await page.changed(2);
  await nvim.input(":GeminiChanges<CR>");
  await page.is(t, "*page:2", "a.txt:1");
  await nvim.input("<Tab>");
  await page.is(t, "*page:3", ":1");
  t.match(
    await nvim.lua("return vim.fn.getbufline(vim.fn.winbufnr(2), 1)[1]"),
    /^big\.txt is large \(1\.1 MB\)\. Press Enter again to load it\.$/,
  );
  t.equal(await nvim.lua("return vim.fn.bufnr('big.txt')"), -1);
  await nvim.input("<CR>");
  await page.is(t, "*page:3", "big.txt:1");
  await nvim.input("<Tab>");
  await page.is(t, "*page:2", "a.txt:1");
  await nvim.command("tabclose");
  t.equal(await nvim.lua("return #vim.fn.getcompletion('*://*', 'buffer')"), 0, "nothing is left");
});

t.test("a key of the review page shows and hides the earlier text beside the file", async (t) => {
  const page = await open(t, { files: { "a.txt": text }, args: ["a.txt"] });
  const { nvim, agent } = page;
  await agent.write("a.txt", changed);
  await page.changed(1);
  await nvim.input(":GeminiChanges<CR>");
  await page.is(t, "page:2", "*a.txt:3");
  await nvim.input("\\d");
  await page.is(t, "page:2", "a.txt:3", "*a.txt:3");
  const old = `(function()
    local namespace = vim.api.nvim_get_namespaces()['gemini-bridge.old_lines']
    return #vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, {})
  end)()`;
  t.equal(await nvim.lua(`return ${old}`), 0, "the old lines are in the other window");
  t.same(
    await nvim.lua(
      "return vim.tbl_map(function(win) return vim.wo[win].winbar ~= '' end, { vim.fn.win_getid(2), 0 })",
    ),
    [true, true],
    "so that the lines are side by side",
  );
  t.same(await nvim.lua("return { vim.wo.diff, vim.fn.getbufline(vim.fn.winbufnr(2), 1, '$') }"), [
    true,
    text.trimEnd().split("\n"),
  ]);
  await nvim.input("\\d");
  await page.is(t, "page:2", "*a.txt:3");
  t.equal(await nvim.lua("return vim.wo.diff"), false);
  await nvim.input("\\dq");
  await page.is(t, "*a.txt:1");
  t.equal(await nvim.lua("return vim.wo.diff"), false);
});

t.test("old lines above the first line disappear when their hunk is decided", async (t) => {
  const page = await startPage(t, {
    files: { "a.txt": "1\n2\n", "b.txt": "b\n" },
    args: ["b.txt"],
    tui: true,
  });
  const { nvim, agent } = page;
  await agent.write("a.txt", "one\n2\n");
  await agent.write("b.txt", "B\n");
  await page.changed(2);
  await nvim.input(":GeminiChanges<CR>");
  const right = async () => (await nvim.screen()).slice(2, 5).map((line) => line.split("│").at(-1)?.trim());
  const shows = async (...wanted: string[]) => {
    const isShown = async () => JSON.stringify(await right()) === JSON.stringify(wanted);
    await nvim.waitFor(isShown, wanted.join()).catch(async () => t.same(await right(), wanted));
  };
  await shows("1", "┃ one", "2");
  await nvim.input("gS");
  await shows("one", "2", "~");
});

t.test("the earlier text is scrolled together with the file, beside the file and above it", async (t) => {
  const before = numbered(400);
  const page = await open(t, { files: { "a.txt": before }, args: ["a.txt"] });
  const { nvim, agent } = page;
  await agent.write("a.txt", before.replace("5\n6\n7\n8\n", "").replace("\n300\n", "\nthree hundred\n"));
  await page.changed(1);
  await nvim.input(":GeminiChanges<CR>");
  await page.is(t, "page:2", "*a.txt:4");
  await nvim.input("]h");
  await page.is(t, "page:2", "*a.txt:296");
  for (const columns of [160, 80]) {
    await nvim.command(`set columns=${columns}`);
    await nvim.input("\\d");
    await page.is(t, "page:2", "a.txt:300", "*a.txt:296");
    const tops = "return { vim.fn.line('w0', vim.fn.win_getid(2)), vim.fn.line('w0') }";
    const [left, right] = z.tuple([z.int(), z.int()]).parse(await nvim.lua(tops));
    t.equal(left, right + 4, `${columns} columns`);
    t.not(await nvim.lua("return vim.fn.foldclosed(150)"), -1, "equal lines are folded");
    await nvim.input("\\d");
    await page.is(t, "page:2", "*a.txt:296");
    t.equal(await nvim.lua("return vim.fn.foldclosed(150)"), -1, "no folds stay");
  }
});

t.test(
  "undo on the review page is refused for files with unsaved changes and for files that have changed",
  async (t) => {
    const page = await open(t, { files: { "a.txt": text, "b.txt": text }, args: ["a.txt"] });
    const { nvim, agent, read } = page;
    await agent.write("a.txt", changed);
    await agent.write("b.txt", changed);
    await page.changed(2);
    await nvim.input(":GeminiChanges<CR>");
    await page.is(t, "*page:2", "a.txt:3");
    await nvim.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), 0, 0, true, { 'mine' })");
    await nvim.input("X");
    await nvim.says(/a\.txt has unsaved changes: save or discard them first/);
    t.equal(read("a.txt"), changed);
    // Replaces the file atomically. If the file were empty for a moment, all lines would count as the user's.
    writeFileSync(nvim.path("draft"), changed.replace("three", "THREE"));
    renameSync(nvim.path("draft"), nvim.path("b.txt"));
    await nvim.input("j");
    await nvim.input("X");
    await nvim.says(/1 hunk in b\.txt was not undone, because you have edited it since/);
    await nvim.waitFor(async () => (await page.tree())[2]?.startsWith(" ! b.txt") === true, "the conflict");
    t.equal(read("b.txt"), text.replace("3\n", "THREE\n"));
  },
);
