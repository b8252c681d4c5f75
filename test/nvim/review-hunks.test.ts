import t, { type Test } from "tap";
import { shareNvim } from "../support/reset.ts";
import { startReviewer } from "../support/review.ts";

shareNvim(t);

const FILE = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
/** A text with three hunks: a changed line, a removed line, and two added lines. */
const PROPOSED = "one\n2\nthree\nfour\nsix\nseven\neight\nnine\n";

async function start(t: Test, options = "", args = ["a.txt"], proposed = PROPOSED) {
  const init = `require('gemini-bridge').setup({ diff = { ${options} } })`;
  const { reviewer } = await startReviewer(t, { files: { "a.txt": FILE, "b.txt": "b\n" }, args, init });
  const id = await reviewer.open(reviewer.nvim.path("a.txt"), proposed);
  await reviewer.review();
  const winbar = `vim.wo[${(await reviewer.proposals())[0]}].winbar`;
  return { reviewer, nvim: reviewer.nvim, id, winbar };
}
const TEXT = `return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n') .. '\\n'`;

for (const args of [["a.txt"], ["b.txt"]]) {
  t.test(
    `hunks can be undone and kept, ${args[0] === "a.txt" ? "file open" : "file not open"}`,
    async (t) => {
      const { reviewer, nvim, id, winbar } = await start(t, "", args);
      t.match(await nvim.lua(`return ${winbar}`), /Proposal for a\.txt · 3 hunks · :w accepts, :q rejects/);
      t.same(await nvim.lua("return vim.api.nvim_win_get_cursor(0)[1]"), 2, "on the first hunk");
      await nvim.input("\\s");
      t.match(await nvim.lua(`return ${winbar}`), /3 hunks, 1 kept/);
      t.same(await nvim.lua("return vim.api.nvim_win_get_cursor(0)[1]"), 4, "on the next hunk");
      t.equal(await nvim.lua(TEXT), PROPOSED, "keeping changes no text");
      await nvim.input("\\x");
      t.equal(await nvim.lua(TEXT), "one\n2\nthree\nfour\nfive\nsix\nseven\neight\nnine\n");
      t.match(await nvim.lua(`return ${winbar}`), /2 hunks, 1 kept/);
      await nvim.input("\\x");
      t.equal(await nvim.lua(TEXT), FILE.replace("two", "2"));
      t.match(await nvim.lua(`return ${winbar}`), /1 hunk, 1 kept/);
      await nvim.input(":w<CR>");
      t.same(await reviewer.outcome(), {
        name: "diff_accepted",
        payload: { id, content: FILE.replace("two", "2") },
      });
    },
  );
}

t.test("each keep and undo of a hunk can be reverted", async (t) => {
  const { nvim, winbar } = await start(t);
  await nvim.input("\\s\\x\\x");
  t.equal(await nvim.lua(TEXT), FILE.replace("two", "2"));
  await nvim.input("\\u");
  t.equal(await nvim.lua(TEXT), "one\n2\nthree\nfour\nfive\nsix\nseven\neight\nnine\n");
  await nvim.input("\\u");
  t.equal(await nvim.lua(TEXT), PROPOSED);
  t.match(await nvim.lua(`return ${winbar}`), /3 hunks, 1 kept/);
  await nvim.input("\\u");
  t.match(await nvim.lua(`return ${winbar}`), /3 hunks · :w/);
  await nvim.input("gg]h\\x");
  await nvim.input("u");
  t.equal(await nvim.lua(TEXT), PROPOSED, "with u, too");
  await nvim.waitFor(`${winbar}:find('3 hunks', 1, true)`, "the count to follow");
  await nvim.input("<C-r>");
  await nvim.waitFor(`${winbar}:find('2 hunks', 1, true)`, "the count to follow");
  await nvim.input("uu");
  t.equal(await nvim.lua(TEXT), PROPOSED, "there is nothing before the proposal");
});

t.test("keys of a review go to the next and previous hunk, also with a count", async (t) => {
  const { nvim } = await start(t);
  const line = "return vim.api.nvim_win_get_cursor(0)[1]";
  for (const [keys, at] of [
    ["gg]h", 2],
    ["]h", 4],
    ["]h", 7],
    ["]h", 7],
    ["[h", 4],
    ["2[h", 4],
    ["gg3]h", 7],
    ["2[h", 2],
  ] as const) {
    await nvim.input(keys);
    t.equal(await nvim.lua(line), keys === "2[h" && at === 4 ? 2 : at, keys);
  }
});

t.test("the keys of a review can be changed, disabled and mapped by <Plug>", async (t) => {
  const { nvim } = await start(t, `}, keys = { undo = 'gX', keep = false`);
  await nvim.lua(
    `vim.keymap.set('n', 'gK', '<Plug>(gemini-keep)') vim.keymap.set('n', 'gN', '<Plug>(gemini-next)')`,
  );
  await nvim.input("gX");
  t.equal(await nvim.lua(TEXT), PROPOSED.replace("2", "two"));
  t.equal(await nvim.lua(`return vim.fn.maparg('\\\\s', 'n')`), "");
  await nvim.input("gggNgK");
  t.match(await nvim.lua("return vim.wo.winbar"), /2 hunks, 1 kept/);
  for (const name of ["accept", "reject", "keep", "undo", "revert", "next", "prev"]) {
    t.not(await nvim.lua(`return vim.fn.mapcheck('<Plug>(gemini-' .. ... .. ')', 'n')`, name), "", name);
  }
});

t.test("the default keys of a review do not override keys of Neovim", async (t) => {
  const { nvim } = await start(t);
  const shadowed = await nvim.lua(`
    local keys = vim.tbl_map(function(map) return map.lhs end, vim.api.nvim_buf_get_keymap(0, 'n'))
    local found = {}
    for _, key in ipairs(keys) do
      local global = vim.fn.maparg(key, 'n', false, true)
      local help = vim.fn.getcompletion(key, 'help')
      if not key:find('^<Plug>') and key ~= 'ZZ' and key ~= 'g?' and vim.list_contains(help, key) then found[#found + 1] = key end
    end
    return found`);
  t.same(shadowed, []);
});

t.test("do, dp, ]c and [c work as usual in a review", async (t) => {
  const { reviewer, nvim, id, winbar } = await start(t);
  await nvim.input("gg]cdo");
  t.equal(await nvim.lua(TEXT), PROPOSED.replace("2", "two"));
  await nvim.waitFor(`${winbar}:find('2 hunks', 1, true)`, "the count to follow");
  await nvim.input("u");
  await nvim.input("gg]c]c]c[c");
  t.equal(await nvim.lua("return vim.api.nvim_win_get_cursor(0)[1]"), 5);
  await nvim.input("<C-w>p");
  t.match(await nvim.lua("return vim.api.nvim_buf_get_name(0)"), /a\.txt$/);
  await nvim.input("gg]cdp");
  await nvim.waitFor(`${winbar}:find('2 hunks', 1, true)`, "the count to follow");
  await nvim.input("<C-w>w:w<CR>");
  t.same(await reviewer.outcome(), {
    name: "diff_accepted",
    payload: { id, content: PROPOSED.replace("2", "two") },
  });
});

t.test("the undo of all hunks gives the text of the file", async (t) => {
  for (const [file, proposed] of [
    [FILE, PROPOSED],
    ["a\nb\n", "a\nB"],
    ["a\nb", "a\nB\n"],
    ["a\n", "x\na\n"],
    ["a\nb\n", "b\n"],
    ["a\nb", "a\nb\nc\n"],
    ["", "new\n"],
    ["a\r\nb\r\n", "a\r\nB\r\n"],
  ] as const) {
    const { reviewer } = await startReviewer(t, { files: { "a.txt": file } });
    const id = await reviewer.open(reviewer.nvim.path("a.txt"), proposed);
    await reviewer.review();
    await reviewer.nvim.input(`gg\\x${"gg]h\\x".repeat(3)}`);
    t.equal(await reviewer.close(id), file, JSON.stringify([file, proposed]));
    await reviewer.nvim.close();
  }
});

t.test("with diff.winbar = false, no winbar is shown", async (t) => {
  const { nvim, winbar } = await start(t, "winbar = false");
  t.equal(await nvim.lua(`return ${winbar}`), "");
});

t.test("an invalid key option is reported, and valid options apply", async (t) => {
  const { nvim } = await start(
    t,
    `layout = 'diagonal', write_accepts = 1, keys = { drop = 'gX' } }, keys = { keep = 3, undo = 'gX', kepe = 'x'`,
  );
  const messages = await nvim.messages();
  for (const name of [
    "diff.layout must be",
    "diff.write_accepts must be",
    "keys.keep must be",
    "keys.kepe, did you mean keys.keep",
    "diff.keys was removed: use `keys`, in which `drop` is `undo`",
  ]) {
    t.match(messages, name);
  }
  await nvim.input("gX");
  t.equal(await nvim.lua(TEXT), PROPOSED.replace("2", "two"));
});

t.test("the hunks of a review are computed from the current texts", async (t) => {
  const file = "one\ntwo\nthree\n";
  const { reviewer, nvim } = await startReviewer(t, {
    files: { "a.txt": file, "b.txt": "b\n" },
    args: ["a.txt"],
  });
  await reviewer.open(nvim.path("a.txt"), "one\n2\nthree\n");
  const winbar = `vim.wo[${(await reviewer.proposals())[0]}].winbar`;
  const says = (what: string) => nvim.waitFor(`${winbar}:find(' ${what} ·', 1, true)`, what);
  await says("1 hunk");
  await nvim.lua("vim.bo[vim.fn.bufnr('a.txt')].fileformat = 'dos'");
  await nvim.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), 0, 1, true, { '1' })");
  await says("1 hunk"); // the two changed lines are adjacent
  await nvim.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), 0, 2, true, { 'one', '2' })");
  await says("line breaks differ");
  await nvim.lua("vim.bo[vim.fn.bufnr('a.txt')].fileformat = 'unix'");
  await nvim.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), 2, 3, true, { 'drei' })");
  await says("1 hunk");
  await reviewer.review();
  await nvim.input("ggdd");
  await says("2 hunks");
  await nvim.input("u");
  await says("1 hunk");
});

t.test("a proposal can be edited in a Neovim that was started with -M", async (t) => {
  const files = { "a.txt": "one\ntwo\n" };
  const { reviewer, nvim } = await startReviewer(t, { files, args: ["-M", "a.txt"] });
  const id = await reviewer.open(nvim.path("a.txt"), "one\n2\n");
  await reviewer.review();
  await nvim.input("\\xAx<Esc>:GeminiAccept<CR>");
  t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: "one\ntwox\n" } });
});
