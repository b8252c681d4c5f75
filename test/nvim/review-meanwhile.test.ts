import t, { type Test } from "tap";
import { z } from "zod";
import { shareNvim } from "../support/reset.ts";
import { startReviewer } from "../support/review.ts";

shareNvim(t);

const FILES = { "a.txt": "one\ntwo\n", "b.txt": "b\n", "c.txt": "c\n" };

async function start(t: Test, layout: string) {
  const { reviewer } = await startReviewer(t, {
    files: FILES,
    args: ["b.txt", "-O", "c.txt"],
    init: `require('gemini-bridge').setup({ diff = { layout = '${layout}' } })`,
  });
  await reviewer.open(reviewer.nvim.path("a.txt"), "one\n2\n");
  return reviewer;
}
/** Lua that returns the content of each window, by tab page. */
const TABS = `return vim.tbl_map(function(tab)
  return vim.tbl_map(function(win)
    return vim.fs.basename(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)))
  end, vim.api.nvim_tabpage_list_wins(tab))
end, vim.api.nvim_list_tabpages())`;
const LEFT_OVER = `return vim.iter(vim.api.nvim_list_wins()):any(function(win)
  return vim.wo[win].diff or vim.wo[win].scrollbind or vim.wo[win].cursorbind or vim.wo[win].winbar ~= ''
end)`;

const CHANGES: [name: string, keys: string, after: string[][]][] = [
  ["a split of their own", "<C-w>t:split c.txt<CR>", [["c.txt", "b.txt", "c.txt"]]],
  ["a tab page of their own", ":tabedit a.txt<CR>", [["b.txt", "c.txt"], ["a.txt"]]],
  ["a window of theirs closed", "<C-w>t:q<CR>", [["c.txt"]]],
  ["another buffer in the file's window", "FILE:edit b.txt<CR>", [["b.txt", "b.txt"]]],
  ["the file's window closed", "FILE:q<CR>", [["b.txt"]]],
  ["windows exchanged", "<C-w>t<C-w>x", [["c.txt", "b.txt"]]],
  ["windows moved", "<C-w>t<C-w>J", [["c.txt", "b.txt"]]],
  ["the proposal alone", "PROPOSAL:only<CR>", [["c.txt"]]],
  ["the proposal moved to a tab page", "PROPOSAL<C-w>T", [["b.txt", "c.txt"]]],
  ["the proposal split", "PROPOSAL:split<CR>", [["b.txt", "c.txt", "c.txt"]]],
];
for (const end of ["GeminiAccept", "GeminiReject", "CLI"]) {
  t.test(`after ${end}, the user's windows stay, and no window of the review remains`, async (t) => {
    const { reviewer, nvim } = await startReviewer(t, { files: FILES });
    for (const [name, keys, after] of CHANGES) {
      await nvim.command("%bwipeout! | edit b.txt | rightbelow vsplit c.txt | wincmd t");
      const id = await reviewer.open(nvim.path("a.txt"), "one\n2\n");
      const [proposal] = await reviewer.proposals();
      const file = await nvim.lua(
        `local proposal = ...
        return vim.iter(vim.api.nvim_list_wins()):find(function(win)
          return win ~= proposal and vim.wo[win].diff
        end)`,
        proposal,
      );
      if (keys.startsWith("FILE")) await nvim.lua("vim.api.nvim_set_current_win(...)", file);
      if (keys.startsWith("PROPOSAL")) await nvim.lua("vim.api.nvim_set_current_win(...)", proposal);
      await nvim.input(keys.replace(/^(FILE|PROPOSAL)/, ""));
      t.same(await reviewer.outcomes(), [], name);
      if (end === "CLI") await reviewer.close(id);
      else {
        await nvim.command(`${end} a.txt`);
        await reviewer.outcome();
      }
      await reviewer.outcomes();
      const sorted = z
        .array(z.array(z.string()))
        .parse(await nvim.lua(TABS))
        .map((tab) => [...tab].sort());
      t.same(
        sorted,
        after.map((tab) => [...tab].sort()),
        name,
      );
      t.equal(await nvim.lua(LEFT_OVER), false);
      t.same(
        await nvim.lua(`return vim.tbl_filter(function(buf)
          return vim.api.nvim_buf_get_name(buf):find('^gemini') ~= nil
        end, vim.api.nvim_list_bufs())`),
        [],
      );
    }
  });
}

t.test("window sizes that the user has changed during a review stay", async (t) => {
  const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["b.txt", "-O", "c.txt"] });
  await nvim.lua(`vim.cmd('botright split | resize 12')`);
  const id = await reviewer.open(nvim.path("a.txt"), "x\n");
  await nvim.input(":resize 20<CR>");
  await reviewer.close(id);
  t.equal(await nvim.lua("return vim.api.nvim_win_get_height(0)"), 20);
});

t.test(
  "windows of a review that were moved into another review's tab page are still recognized",
  async (t) => {
    const reviewer = await start(t, "tab");
    const { nvim } = reviewer;
    await reviewer.open(nvim.path("c.txt"), "x\n");
    await nvim.input(":tabonly<CR>");
    t.same(await reviewer.outcomes(), [], "the user has not seen them");
    t.same(await reviewer.proposals(), []);
    for (const [index, file] of ["a.txt", "c.txt"].entries()) {
      await nvim.input(`:GeminiReview ${file}<CR>:tabclose<CR>`);
      t.same(await reviewer.outcome(), { name: "diff_rejected", payload: { id: index + 1 } });
    }
  },
);

t.test("a review is completely shown when the host gets its answer", async (t) => {
  const lines = (word: string) => Array.from({ length: 400 }, (_, i) => `local x${i} = ${word}\n`);
  const original = lines("1");
  const proposed = original.with(300, "local y = 2\n");
  const { reviewer } = await startReviewer(t, {
    files: { "a.lua": original.join(""), "b.txt": "b\n" },
    args: ["a.lua", "+split b.txt"],
    init: `vim.api.nvim_create_autocmd('User', { pattern = 'GeminiDiffOpened', callback = function()
      local buf = vim.iter(vim.api.nvim_list_bufs()):find(function(buf) return vim.b[buf].gemini_diff end)
      opened_with = { vim.bo[buf].filetype, #vim.api.nvim_buf_get_keymap(buf, 'n') > 0 }
    end })`,
  });
  for (let round = 0; round < 40; round++) {
    const id = await reviewer.open(reviewer.nvim.path("a.lua"), proposed.join(""));
    const found = await reviewer.nvim.lua(
      `local buf = vim.iter(vim.api.nvim_list_bufs()):find(function(buf) return vim.b[buf].gemini_diff end)
      local win = vim.fn.win_findbuf(buf)[1]
      local maps = vim.iter(vim.api.nvim_buf_get_keymap(buf, 'n')):map(function(map) return map.lhs end):totable()
      return {
        vim.bo[buf].filetype, vim.api.nvim_win_get_cursor(win)[1], vim.wo[win].winbar:match('%d+ hunks?'),
        vim.list_contains(maps, '\\\\a'),
      }`,
    );
    t.same(found, ["lua", 301, "1 hunk", true]);
    t.same(
      await reviewer.nvim.lua("return opened_with"),
      ["lua", true],
      "so does a script that is told of it",
    );
    await reviewer.close(id);
  }
});
