import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import t from "tap";
import { fuzz } from "../support/fuzz.ts";
import { shareNvim } from "../support/reset.ts";
import { startReviewer } from "../support/review.ts";

shareNvim(t);

const NAMES = [
  "with space.txt",
  " leading",
  "trailing ",
  "#.txt",
  "##",
  "%",
  "%:h.txt",
  "a|b",
  "|touch pwned",
  "`touch pwned`",
  "$(touch pwned)",
  "'single' \"double\".txt",
  "[a].txt",
  "a*.txt",
  "?",
  "$HOME",
  "~",
  "~root",
  "-leading",
  "+leading",
  "+q!",
  "--cmd",
  "new\nline.txt",
  "back\\slash.txt",
  "{a,b}.txt",
  "http:/example.com/x.txt",
  "file:",
  "ünï/日本.txt",
  "e\u0301.txt",
  "tab\there",
  "\x01",
  "<CR>",
  "<afile>",
  "!ls",
  "&",
  ";x",
  "a.txt:12",
  "%d%s",
  "%#Error#.txt",
  ".hidden",
  "deep/er/than/that/exists.txt",
];

for (const [how, prepare] of [
  ["new", () => {}],
  [
    "on disk",
    (path: string) => {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, "old\n");
    },
  ],
] as const) {
  for (const layout of ["auto", "tab"]) {
    t.test(`files with special names can be reviewed, ${how}, layout ${layout}`, async (t) => {
      const init = `require('gemini-bridge').setup({ diff = { layout = '${layout}' } })`;
      const { reviewer } = await startReviewer(t, { files: { "b.txt": "b\n" }, args: ["b.txt"], init });
      const before = await reviewer.layout();
      for (const name of NAMES) {
        const path = join(reviewer.nvim.dirs.workspace, "dir", name);
        prepare(path);
        const id = await reviewer.open(path, "new\n");
        const shown = await reviewer.nvim.lua(
          `return { vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(...)), vim.b[vim.api.nvim_win_get_buf(...)].gemini_diff }`,
          (await reviewer.proposals())[0],
        );
        t.same(
          shown,
          [`gemini://${id}/dir/${name}`, { filePath: path, role: "proposal" }],
          JSON.stringify(name),
        );
        await reviewer.nvim.command("redraw");
        await reviewer.review();
        await reviewer.nvim.input("Gomore<Esc>:w<CR>");
        t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: "new\nmore\n" } });
        await reviewer.nvim.lua(`require('gemini-bridge').accept({ path = ... })`, path);
        t.equal((await reviewer.nvim.nvim.mode).blocking, false);
      }
      await reviewer.becomes(t, before);
      t.notMatch(await reviewer.nvim.messages(), /E\d+:/);
      for (const at of [".", "dir"])
        t.notOk(existsSync(join(reviewer.nvim.dirs.workspace, at, "pwned")), "no name is run");
    });
  }
}

t.test("files with any name can be reviewed", async (t) => {
  const { reviewer } = await startReviewer(t);
  const name = fc
    .string({
      unit: fc.constantFrom(..."ab /\\#%|`'\"[]*?$~{},;:&!<>()=+-.\n\t"),
      minLength: 1,
      maxLength: 20,
    })
    .filter((text) => !text.includes("//") && !text.startsWith("/") && !/(^|\/)\.{1,2}(\/|$)|\/$/.test(text));
  await fc.assert(
    fc.asyncProperty(name, async (name) => {
      const path = `${reviewer.nvim.dirs.workspace}/${name}`;
      const id = await reviewer.open(path, "x\n");
      await reviewer.nvim.lua(`require('gemini-bridge').accept({ path = ... })`, path);
      const outcome = await reviewer.outcome();
      return outcome.name === "diff_accepted" && outcome.payload.id === id;
    }),
    fuzz(t, "file names", 150),
  );
});

t.test("files with the same name in two directories are reviewed separately", async (t) => {
  const { reviewer } = await startReviewer(t, {
    files: { "x/a.txt": "x\n", "y/a.txt": "y\n" },
    args: ["x/a.txt", "y/a.txt"],
  });
  await reviewer.nvim.command("edit y/a.txt");
  const x = await reviewer.open(reviewer.nvim.path("x/a.txt"), "new x\n");
  const y = await reviewer.open(reviewer.nvim.path("y/a.txt"), "new y\n");
  t.equal(await reviewer.close(y), "new y\n");
  t.equal(await reviewer.close(x), "new x\n");
});

t.test("modelines of a proposal are ignored, and its filetype comes from the path", async (t) => {
  const { reviewer } = await startReviewer(t, { init: "vim.o.modeline = true vim.o.modelines = 5" });
  for (const [name, filetype] of [
    ["x.py", "python"],
    ["x.ts", "typescript"],
    ["Makefile", "make"],
    ["no-type", ""],
    ["x.md", "markdown"],
  ] as const) {
    const id = await reviewer.open(
      reviewer.nvim.path(name),
      "/* vim: set ft=lua ts=3 noma ro: */\nx\n/* vim: set ft=vim ts=3 bh=wipe bt=nofile swf: */\n",
    );
    const buf = await reviewer.nvim.lua(
      `local o = vim.bo[vim.api.nvim_win_get_buf(...)]
      return { o.filetype, o.modifiable, o.readonly, o.buftype, o.bufhidden, o.swapfile, o.modeline, o.modified, o.buflisted, o.tabstop ~= 3 }`,
      (await reviewer.proposals())[0],
    );
    t.same(buf, [filetype, true, false, "acwrite", "hide", false, false, false, false, true], name);
    await reviewer.close(id);
  }
});

t.test("a proposal for an open file has the filetype of its buffer", async (t) => {
  const files = { "x.txt": "one\n", "y.txt": "one\n" };
  const { reviewer } = await startReviewer(t, { files, args: ["x.txt"], init: "" });
  await reviewer.nvim.command("set filetype=lua");
  const types = async () =>
    reviewer.nvim.lua(`return vim.iter(vim.api.nvim_list_bufs()):filter(function(buf)
      return vim.startswith(vim.api.nvim_buf_get_name(buf), 'gemini')
    end):map(function(buf) return vim.bo[buf].filetype end):totable()`);
  const x = await reviewer.open(reviewer.nvim.path("x.txt"), "new\n");
  t.same(await types(), ["lua"]);
  await reviewer.close(x);
  await reviewer.open(reviewer.nvim.path("y.txt"), "new\n");
  t.same(await types(), ["text", "text"]);
});

t.test(":GeminiAccept, :GeminiReject and :GeminiReview take %, # and <cfile>", async (t) => {
  const { reviewer, nvim } = await startReviewer(t, {
    files: { "a.txt": "a.txt\n", "b.txt": "b\n" },
    args: ["b.txt"],
  });
  const open = async () => {
    const ids = [
      await reviewer.open(nvim.path("a.txt"), "new a\n"),
      await reviewer.open(nvim.path("b.txt"), "new b\n"),
    ];
    await nvim.waitFor("#require('gemini-bridge').diffs() == 2", "the reviews");
    return ids;
  };
  const [a, b] = await open();
  await nvim.input(":GeminiAccept %<CR>");
  t.match(await reviewer.outcome(), { name: "diff_accepted", payload: { id: b } });
  await nvim.input(":GeminiReview a.txt<CR>");
  t.ok(await nvim.lua("return vim.b.gemini_diff"));
  await nvim.input(":GeminiReject %<CR>");
  t.match(
    await reviewer.outcome(),
    { name: "diff_rejected", payload: { id: a } },
    "the file of the proposal",
  );
  await nvim.waitFor("vim.fn.expand('%:t') == 'b.txt'", "the file before");
  await nvim.command("edit a.txt");
  const [, again] = await open();
  await nvim.input(":GeminiReject #<CR>");
  t.match(await reviewer.outcome(), { name: "diff_rejected", payload: { id: again } });
  await nvim.input(":GeminiAccept <lt>cfile><CR>");
  t.match(await reviewer.outcome(), { name: "diff_accepted" });
});
