import t from "tap";
import { shareNvim } from "../support/reset.ts";
import { startReviewer } from "../support/review.ts";

shareNvim(t);

const FILES = { "a.txt": "one\ntwo\nthree\n", "b.txt": "b\n", "c.txt": "c\n" };
const PROPOSED = "one\n2\nthree\n";
const SHOWN = `vim.iter(vim.api.nvim_list_wins()):map(function(win)
  return (vim.b[vim.api.nvim_win_get_buf(win)].gemini_diff or {}).filePath
end):totable()[1]`;

for (const bufhidden of ["wipe", "delete", "unload"]) {
  t.test(
    `a review does not use a window whose buffer would be deleted: bufhidden=${bufhidden}`,
    async (t) => {
      const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["b.txt"] });
      await nvim.lua(
        `vim.cmd.vsplit('c.txt') vim.bo.bufhidden = ... vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'a message' })
      vim.cmd.write() vim.cmd.wincmd('p')`,
        bufhidden,
      );
      const before = await reviewer.layout();
      for (const end of ["GeminiAccept", "GeminiReject"]) {
        await reviewer.open(nvim.path("a.txt"), PROPOSED);
        await nvim.command(end);
        await reviewer.outcomes();
        await reviewer.becomes(t, before);
      }
      t.same(await nvim.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('c.txt'), 0, -1, false)"), [
        "a message",
      ]);
    },
  );
}

t.test("wiping a buffer whose window is part of the layout does not break the review", async (t) => {
  const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["b.txt"] });
  for (const end of ["GeminiAccept", "GeminiReject", "CLI"]) {
    await nvim.lua(`vim.cmd.only() vim.cmd.edit('b.txt') vim.cmd.vsplit()
      vim.api.nvim_win_set_buf(0, vim.api.nvim_create_buf(false, true))
      dashboard = vim.api.nvim_get_current_buf()
      vim.bo.bufhidden = 'wipe'`);
    const id = await reviewer.open(nvim.path("a.txt"), PROPOSED);
    const next = await reviewer.open(nvim.path("c.txt"), "next\n");
    await nvim.lua(
      `vim.api.nvim_win_set_buf(vim.fn.bufwinid(dashboard), vim.api.nvim_create_buf(true, false))`,
    );
    t.equal(await nvim.lua("return vim.api.nvim_buf_is_valid(dashboard)"), false);
    if (end === "CLI") await reviewer.close(id);
    else await nvim.command(`${end} a.txt`);
    await nvim.waitFor(`${SHOWN} == '${nvim.path("c.txt")}'`, "the next review");
    await reviewer.close(next);
    await reviewer.outcomes();
  }
  t.notMatch(await nvim.messages(), /traceback|E\d+:/);
});

t.test(
  "a review whose file's buffer was wiped is shown with a copy of the file, and blocks no other review",
  async (t) => {
    const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["a.txt", "b.txt", "c.txt"] });
    await nvim.lua(
      "vim.cmd.bufdo('edit') vim.bo[vim.fn.bufnr('a.txt')].filetype = 'lua' vim.cmd.buffer('c.txt')",
    );
    const first = await reviewer.open(nvim.path("c.txt"), "first\n");
    const second = await reviewer.open(nvim.path("a.txt"), PROPOSED);
    const third = await reviewer.open(nvim.path("b.txt"), "third\n");
    await nvim.command("bwipeout a.txt");
    await reviewer.close(first);
    await nvim.waitFor(`${SHOWN} == '${nvim.path("a.txt")}'`, "the second review");
    const sides = await nvim.lua(`return vim.iter(vim.api.nvim_list_wins()):filter(function(win)
    return vim.wo[win].diff
  end):map(function(win)
    local buf = vim.api.nvim_win_get_buf(win)
    return vim.bo[buf].filetype .. ': ' .. table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), ' ')
  end):totable()`);
    t.same([...(sides as string[])].sort(), ["lua: one 2 three", "lua: one two three"]);
    await nvim.command("GeminiAccept a.txt");
    t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id: second, content: PROPOSED } });
    await nvim.waitFor(`${SHOWN} == '${nvim.path("b.txt")}'`, "the third review");
    t.equal(await reviewer.close(third), "third\n");
  },
);

t.test(
  "in a review, the copy of a file that is not open cannot be edited, but the user's own buffer can",
  async (t) => {
    const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["b.txt"] });
    const left = `local win = vim.iter(vim.api.nvim_list_wins()):find(function(win)
    return vim.wo[win].diff and not vim.b[vim.api.nvim_win_get_buf(win)].gemini_diff
  end)
  vim.api.nvim_set_current_win(win)
  return vim.bo.modifiable`;
    const text = "return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), ' ')";
    const copied = await reviewer.open(nvim.path("a.txt"), PROPOSED);
    t.equal(await nvim.lua(left), false);
    await nvim.input("x");
    t.equal(await nvim.lua(text), "one two three");
    await reviewer.close(copied);
    await nvim.command("edit a.txt");
    await reviewer.open(nvim.path("a.txt"), PROPOSED);
    t.equal(await nvim.lua(left), true);
    await nvim.input("x");
    t.not(await nvim.lua(text), "one two three");
  },
);

t.test(
  "after CTRL-W _ in the proposal, closing the review restores the sizes of other windows",
  async (t) => {
    const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["b.txt"] });
    await nvim.lua("vim.cmd.split('c.txt') vim.cmd.vsplit() vim.cmd('botright 9split') vim.cmd.wincmd('k')");
    const before = await reviewer.layout();
    for (const keys of ["<C-w>_", "<C-w>|", "<C-w>_<C-w>|", ":resize 3<CR>"]) {
      await reviewer.open(nvim.path("a.txt"), PROPOSED);
      await nvim.input(`:GeminiReview<CR>${keys}:GeminiReject<CR>`);
      await reviewer.outcome();
      await reviewer.outcomes();
      await reviewer.becomes(t, before, keys);
    }
  },
);
