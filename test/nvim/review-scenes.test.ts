/** Compares the windows before and after a review, for many arrangements of windows and for each layout of reviews. */
import t from "tap";
import { shareNvim } from "../support/reset.ts";
import { type Reviewer, startReviewer } from "../support/review.ts";

shareNvim(t);

const lines = (count: number, word = "line") =>
  Array.from({ length: count }, (_, index) => `${word} ${index + 1}\n`).join("");
const FILES = { "a.txt": lines(100), "b.txt": lines(80, "b"), "c.txt": lines(60, "c"), "d/a.txt": "x\n" };
const PROPOSED = lines(100).replace("line 50\n", "line fifty\n").replace("line 3\n", "");

/** Lua that arranges the windows, by the name of the arrangement. */
const SCENES: Record<string, string> = {
  "one empty window": "",
  "the file alone": `vim.cmd.edit('a.txt') vim.api.nvim_win_set_cursor(0, { 60, 3 }) vim.cmd('normal! zt')`,
  "the file alone, at its end": `vim.cmd.edit('a.txt') vim.cmd('normal! G')`,
  "another file alone": `vim.cmd.edit('b.txt') vim.api.nvim_win_set_cursor(0, { 60, 2 }) vim.cmd('normal! zt')`,
  "two files, scrollopt with hor": `
    vim.o.scrollopt = 'ver,hor,jump' vim.cmd.edit('a.txt') vim.cmd('70') vim.cmd.vsplit('b.txt') vim.cmd('40')`,
  "three files in rows and columns": `
    vim.cmd.edit('a.txt') vim.cmd.split('b.txt') vim.cmd.vsplit('c.txt') vim.cmd('20') vim.cmd.wincmd('p')`,
  "an unsaved buffer in the other window, nohidden": `
    vim.cmd.edit('b.txt') vim.cmd.vsplit('c.txt') vim.api.nvim_buf_set_lines(vim.fn.bufnr('b.txt'), 0, 1, true, { 'edited' })
    vim.o.hidden = false`,
  "folds made by hand": `
    vim.cmd.edit('a.txt') vim.wo.foldmethod = 'manual' vim.cmd('2,8fold') vim.cmd('10,90fold') vim.cmd('10foldopen')
    vim.cmd('20,30fold') vim.cmd.vsplit('b.txt')`,
  "folds made by hand in the window to borrow": `
    vim.cmd.edit('c.txt') vim.cmd('2,8fold') vim.cmd('10,50fold') vim.cmd('10foldopen') vim.cmd('20,30fold')
    vim.cmd.vsplit('b.txt')`,
  "a terminal in insert mode": `
    vim.cmd.edit('b.txt') vim.cmd('vertical botright split') vim.cmd.terminal('cat') vim.cmd.startinsert()`,
  "only a terminal": `vim.cmd.terminal('cat') vim.cmd.startinsert()`,
  "an explorer and a terminal": `
    vim.cmd.edit('b.txt') vim.cmd('botright split') vim.cmd.terminal('cat') vim.cmd.wincmd('p')
    vim.cmd('topleft 30vnew') vim.bo.buftype = 'nofile' vim.wo.winfixwidth = true`,
  "quickfix, help and preview": `
    vim.cmd.edit('b.txt') vim.cmd.help() vim.fn.setqflist({ { filename = 'c.txt', lnum = 1 } }) vim.cmd.copen()
    vim.cmd('pedit c.txt')`,
  "a float with the focus": `
    vim.cmd.edit('b.txt')
    vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), true, { relative = 'editor', row = 3, col = 3, width = 40, height = 10 })`,
  "several tab pages": `
    vim.cmd.edit('b.txt') vim.cmd.tabedit('a.txt') vim.cmd.tabedit('c.txt') vim.cmd.tabprevious() vim.cmd.vsplit()`,
  "a diff of two other files": `
    vim.cmd.edit('b.txt') vim.cmd('30') vim.cmd.diffthis() vim.cmd.vsplit('c.txt') vim.cmd.diffthis() vim.cmd('30')`,
  "one window of a diff": `vim.cmd.edit('b.txt') vim.cmd.diffthis()`,
  "noequalalways, splitright, splitbelow, winfixwidth": `
    vim.o.equalalways = false vim.o.splitright = true vim.o.splitbelow = true
    vim.cmd.edit('b.txt') vim.cmd('30vsplit c.txt') vim.wo.winfixwidth = true vim.cmd.wincmd('p') vim.cmd('10split')`,
  autochdir: `
    vim.cmd.edit('a.txt') vim.o.autochdir = true vim.cmd.split('d/a.txt')`,
  "window options of all kinds": `
    vim.cmd.edit('a.txt') vim.wo.number = true vim.wo.wrap = true vim.wo.foldmethod = 'indent' vim.wo.winbar = 'mine'
    vim.wo.scrolloff = 5 vim.cmd.vsplit('b.txt') vim.wo.scrollbind = true vim.wo.cursorbind = true`,
  "a window too small to split": `
    vim.cmd.edit('b.txt') vim.cmd('vertical botright 150split c.txt') vim.cmd('topleft 45new')`,
};

const ENDS: [name: string, end: (reviewer: Reviewer, id: number) => Promise<unknown>][] = [
  ["closed by the CLI", (reviewer, id) => reviewer.close(id)],
  [
    "accepted in the proposal",
    async (reviewer) => {
      await reviewer.review();
      await reviewer.nvim.input("G]c:w<CR>");
    },
  ],
  [
    "closed by the user",
    async (reviewer) => {
      await reviewer.review();
      await reviewer.nvim.input("G:q<CR>");
    },
  ],
  ["rejected from where the user is", (reviewer) => reviewer.nvim.lua(`require('gemini-bridge').reject()`)],
];

const LAYOUTS = ["auto", "vertical", "horizontal", "tab"];

const FOCUS = `return {
  vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf(), vim.api.nvim_get_mode().mode,
}`;

for (const [name, scene] of Object.entries(SCENES)) {
  t.test(`with ${name}, all windows are as before after each review`, async (t) => {
    const { reviewer, nvim } = await startReviewer(t, { files: FILES });
    await nvim.lua(`${scene}\nvim.cmd.redraw()`);
    const mode = () => nvim.lua("return vim.api.nvim_get_mode().mode");
    for (const layout of LAYOUTS) {
      await nvim.lua("require('gemini-bridge').setup({ diff = { layout = ... } })", layout);
      if (scene.includes("startinsert")) {
        await nvim.command("startinsert");
        await nvim.waitFor(`vim.api.nvim_get_mode().mode == 't'`, "Terminal mode");
      }
      const before = await reviewer.layout();
      for (const [how, end] of ENDS) {
        const at = await nvim.lua(FOCUS);
        const wasIn = await mode();
        const id = await reviewer.open(nvim.path("a.txt"), PROPOSED);
        t.same(await nvim.lua(FOCUS), at, `the focus stays: ${layout}`);
        t.equal((await reviewer.proposals()).length, 1, "the proposal is shown");
        await end(reviewer, id);
        await reviewer.outcomes();
        // After a decision inside a proposal, the focus returns to a terminal in Normal mode.
        const isLedBack = /in the proposal|by the user/.test(how) && wasIn === "t";
        const expected = { ...before, mode: isLedBack ? "nt" : wasIn };
        await reviewer.becomes(t, expected, `all is as before: ${layout}, ${how}`);
      }
    }
    t.notMatch(await nvim.messages(), /E\d+:/);
  });
}
