/** Tests actions of the user on windows and sessions while a review is shown. */
import t, { type Test } from "tap";
import { shareNvim } from "../support/reset.ts";
import { startReviewer } from "../support/review.ts";

shareNvim(t);

const FILES = { "a.txt": "one\ntwo\n", "b.txt": "b\n", "c.txt": "c\n" };
const OPTIONS = `vim.tbl_map(function(win)
  local o = vim.wo[win]
  return { o.diff, o.scrollbind, o.cursorbind, o.wrap, o.winbar }
end, vim.tbl_filter(function(win)
  return not vim.b[vim.api.nvim_win_get_buf(win)].gemini_diff
end, vim.api.nvim_list_wins()))`;
const ORDINARY = [false, false, false, true, ""];

async function start(t: Test, layout = "vertical", switchbuf = "uselast") {
  const init = `vim.o.switchbuf = '${switchbuf}' require('gemini-bridge').setup({ diff = { layout = '${layout}' } })`;
  const { reviewer } = await startReviewer(t, { files: FILES, args: ["a.txt"], init });
  await reviewer.open(reviewer.nvim.path("a.txt"), "one\n2\n");
  return { reviewer, nvim: reviewer.nvim };
}

for (const keys of [
  ":edit b.txt<CR>",
  ":split<CR>:edit b.txt<CR><C-w>p:edit c.txt<CR>",
  ":edit b.txt<CR>:edit #<CR>",
  ":vsplit c.txt<CR><C-w>p:q<CR>",
  ":vsplit c.txt<CR><C-w>p:hide<CR><C-w>t:tab split a.txt<CR>:tabclose<CR>",
  ":vsplit c.txt<CR><C-w>p:buffer c.txt<CR>:split a.txt<CR>",
])
  t.test(`${keys} in the file's window leaves no options of the comparison behind`, async (t) => {
    const { reviewer, nvim } = await start(t);
    await nvim.input(keys);
    const during = await nvim.lua(`return ${OPTIONS}`);
    for (const window of during as unknown[]) t.same(window, ORDINARY, "during the review");
    t.match(await nvim.lua("return #require('gemini-bridge').diffs()"), 1);
    await nvim.input(":GeminiAccept<CR>");
    await reviewer.outcome();
    await reviewer.outcomes();
    await nvim.input(":edit a.txt<CR>:split b.txt<CR>:vsplit a.txt<CR>:tab split a.txt<CR>");
    const after = await nvim.lua(`return ${OPTIONS}`);
    for (const window of after as unknown[]) t.same(window, ORDINARY, "after the review");
  });

for (const keys of [":split<CR>", ":vsplit<CR>", ":tab split<CR>"])
  t.test(`a window that ${keys} makes from the file's window does not join the comparison`, async (t) => {
    const { reviewer, nvim } = await start(t);
    await nvim.input(keys);
    t.same(
      await nvim.lua("local o = vim.wo; return { o.diff, o.scrollbind, o.cursorbind, o.wrap, o.winbar }"),
      ORDINARY,
    );
    await nvim.input(":GeminiReject<CR>");
    await reviewer.outcome();
    await reviewer.outcomes();
    const after = await nvim.lua(`return ${OPTIONS}`);
    for (const window of after as unknown[]) t.same(window, ORDINARY);
  });

t.test("after a review, the user's own comparison of the file survives :edit!", async (t) => {
  const { reviewer, nvim } = await start(t);
  await nvim.input(":edit b.txt<CR>:GeminiReject<CR>"); // the window never shows the file again
  await reviewer.outcome();
  await reviewer.outcomes();
  await nvim.input(":vsplit a.txt<CR>");
  t.equal(await nvim.lua("return vim.wo.diff"), false, "no diff mode of the review");
  await nvim.input(":windo diffthis<CR><C-w>t:edit!<CR>");
  t.same(
    await nvim.lua("return { vim.fn.expand('%'), vim.wo.diff }"),
    ["a.txt", true],
    "the diff mode of the user",
  );
});

for (const floats of [1, 3])
  t.test(`the window behind ${floats} picker windows keeps its buffer`, async (t) => {
    const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["b.txt", "-o", "c.txt"] });
    const behind = await nvim.lua(
      "return { vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf() }",
    );
    await nvim.lua(
      `for row = 1, ... do
         local buf = vim.api.nvim_create_buf(false, true)
         vim.api.nvim_open_win(buf, true, { relative = 'editor', row = 3 * row, col = 3, width = 30, height = 2 })
       end`,
      floats,
    );
    await reviewer.open(nvim.path("a.txt"), "one\n2\n");
    t.equal((await reviewer.proposals()).length, 1);
    const [win, buf] = behind as [number, number];
    t.equal(await nvim.lua("return vim.api.nvim_win_get_buf(...)", win), buf);
    await nvim.lua("vim.api.nvim_win_close(0, true) vim.api.nvim_set_current_win(...)", win);
    t.equal(await nvim.lua("return vim.fn.expand('%:t')"), "b.txt");
  });

for (const floats of [1, 3])
  t.test(`the cursor of the file's window does not move behind ${floats} picker windows`, async (t) => {
    const text = Array.from({ length: 60 }, (_, line) => `${line}\n`).join("");
    const { reviewer, nvim } = await startReviewer(t, { files: { "a.txt": text }, args: ["a.txt"] });
    const before = await reviewer.layout();
    await nvim.lua(
      `for row = 1, ... do
         local buf = vim.api.nvim_create_buf(false, true)
         vim.bo[buf].bufhidden = 'wipe'
         vim.api.nvim_open_win(buf, true, { relative = 'editor', row = 3 * row, col = 3, width = 30, height = 2 })
       end`,
      floats,
    );
    await reviewer.open(nvim.path("a.txt"), text.replace("\n50\n", "\nfifty\n"));
    await nvim.waitFor(
      "vim.fn.line('.', ...) == 51".replace("...", `${(await reviewer.proposals())[0]}`),
      "the hunk",
    );
    await nvim.command("fclose!");
    t.equal(await nvim.lua("return vim.api.nvim_win_get_cursor(0)[1]"), 1);
    await nvim.input(":GeminiReview<CR>:w<CR>");
    t.match(await reviewer.outcome(), { name: "diff_accepted" });
    await reviewer.outcomes();
    await reviewer.becomes(t, before);
  });

for (const switchbuf of ["useopen", "usetab,newtab"])
  t.test(`a review opens in a tab page of its own with switchbuf=${switchbuf}`, async (t) => {
    const { reviewer, nvim } = await start(t, "tab", switchbuf);
    t.same(
      await nvim.lua(
        "return vim.tbl_map(function(tab) return #vim.api.nvim_tabpage_list_wins(tab) end, vim.api.nvim_list_tabpages())",
      ),
      [1, 2],
    );
    await nvim.input(":GeminiReview<CR>:w<CR>");
    t.match(await reviewer.outcome(), { name: "diff_accepted" });
    t.notMatch(await nvim.messages(), /cannot be shown/);
  });

t.test("a session that was saved during a review does not prevent later reviews", async (t) => {
  const { nvim } = await start(t);
  await nvim.command("mksession! session.vim");
  const saved = await nvim.lua("return table.concat(vim.fn.readfile('session.vim'), '\\n')");
  const { reviewer: next } = await startReviewer(t, { files: FILES });
  await next.nvim.lua(
    "vim.fn.writefile(vim.split(..., '\\n'), 'session.vim')",
    String(saved).replaceAll(nvim.path(""), next.nvim.path("")),
  );
  await next.nvim.command("silent! source session.vim");
  const names = "vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())";
  t.notMatch(
    await next.nvim.lua(`return table.concat(${names}, ' ')`),
    /gemini[a-z-]*:\/\//,
    "nothing of ours is restored",
  );
  t.equal(await next.nvim.lua("return #vim.api.nvim_list_wins()"), 1);
  await next.open(next.nvim.path("a.txt"), "one\n2\n");
  t.equal((await next.proposals()).length, 1, "the review is shown");
  await next.review();
  t.same(await next.nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)"), ["one", "2"]);
  t.notMatch(await next.nvim.messages(), /E95/);
});

t.test("the command line keeps its height if the user has maximized a window", async (t) => {
  const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["b.txt"] });
  const id = await reviewer.open(nvim.path("a.txt"), "proposed\n");
  await nvim.input("<C-w>_");
  await reviewer.close(id);
  t.same(await nvim.lua("return { vim.o.cmdheight, #vim.api.nvim_list_wins() }"), [1, 1]);
});

t.test("windows that the user has minimized keep the size 0 after a review", async (t) => {
  const init = "vim.o.winminheight, vim.o.winminwidth = 0, 0";
  const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["b.txt"], init });
  for (const [split, maximize] of [
    ["split", "<C-w>_"],
    ["vsplit", "<C-w>|"],
  ] as const) {
    await nvim.input(`:belowright ${split} c.txt<CR>${maximize}`);
    const sizes = () =>
      nvim.lua(`return vim.tbl_map(function(win)
        return { vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win) }
      end, vim.api.nvim_list_wins())`);
    const before = await sizes();
    await reviewer.close(await reviewer.open(nvim.path("a.txt"), "proposed\n"));
    t.same(await sizes(), before, split);
    await nvim.input(":only<CR>");
  }
});

t.test("a proposal whose first window was closed continues in the other window", async (t) => {
  const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["a.txt"] });
  await reviewer.open(nvim.path("a.txt"), "1\ntwo\n");
  await nvim.input(":GeminiReview<CR>:split<CR><C-w>p<C-w>c");
  await nvim.lua("vim.api.nvim_win_call(vim.fn.bufwinid('a.txt'), function() vim.cmd('edit b.txt') end)");
  await nvim.input("<C-w>t:GeminiReview<CR>");
  t.equal(await nvim.lua("return vim.b.gemini_diff.role"), "proposal");
  await nvim.input("Anew <Esc>:w<CR>");
  t.match(await reviewer.outcome(), { name: "diff_accepted" });
  t.notMatch(await nvim.messages(), /E\d+:|stack traceback/);
});

t.test("the command line keeps its height when a review closes in a hidden tab page", async (t) => {
  const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["b.txt"] });
  for (const name of ["a.txt", "new.txt"]) {
    const id = await reviewer.open(nvim.path(name), "proposed\n");
    await nvim.input(":tab split<CR>");
    await reviewer.close(id);
    await nvim.input(":tabclose<CR>");
    t.equal(await nvim.lua("return vim.o.cmdheight"), 1, name);
  }
});

t.test("a review in a tab page with a float closes from another tab page", async (t) => {
  const { reviewer, nvim } = await start(t, "tab");
  await nvim.input(":GeminiReview<CR>");
  await nvim.lua(
    `vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), false,
      { relative = 'editor', row = 1, col = 1, width = 9, height = 3 })`,
  );
  await nvim.input(":tabfirst<CR>:GeminiReject<CR>");
  await reviewer.outcome();
  await reviewer.outcomes();
  t.equal(await nvim.lua("return #vim.api.nvim_list_wins()"), 1);
});

t.test(
  "after a visit to the original text, the focus still returns to the window before the review",
  async (t) => {
    const init = "require('gemini-bridge').setup({ diff = { layout = 'tab' } })";
    const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["b.txt"], init });
    await nvim.command("tabnew c.txt | tabfirst");
    await reviewer.open(nvim.path("a.txt"), "one\n2\n");
    await nvim.input(":GeminiReview<CR><C-w>w:GeminiReview<CR>:w<CR>");
    t.match(await reviewer.outcome(), { name: "diff_accepted" });
    await reviewer.outcomes();
    t.equal(await nvim.lua("return vim.fn.expand('%')"), "b.txt");
  },
);

const TERMINAL = ":belowright new | terminal cat<CR><C-w>_";
for (const [keys, layout, args] of [
  ["<C-w>_", "vertical", ["-o", "b.txt", "a.txt"]],
  ["<C-w>_", "horizontal", ["-o", "b.txt", "a.txt"]],
  [":set winminheight=0<CR><C-w>_", "auto", ["-o", "b.txt", "a.txt"]],
  ["<C-w>L<C-w>|", "auto", ["-o", "b.txt", "a.txt"]],
  [TERMINAL, "vertical", ["a.txt"]],
  [TERMINAL, "horizontal", ["a.txt"]],
  [TERMINAL, "inline", ["a.txt"]],
  [`:set winminheight=0<CR>${TERMINAL}`, "auto", ["a.txt"]],
] as const)
  t.test(`a review is visible in the layout ${layout} after ${keys} in another window`, async (t) => {
    const init = `require('gemini-bridge').setup({ diff = { layout = '${layout}' } })`;
    const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: [...args], init });
    await nvim.input(keys);
    const before = await reviewer.layout();
    await reviewer.open(nvim.path("a.txt"), "one\n2\n");
    const [proposal] = await reviewer.proposals();
    const shown = await nvim.lua(
      `local info = vim.fn.getwininfo(...)[1]
      return info.height >= 5 and info.width >= 30 and vim.api.nvim_get_current_win() ~= ...`,
      proposal,
    );
    t.equal(shown, true, "room for the proposal");
    await reviewer.nvim.lua("require('gemini-bridge').reject()");
    await reviewer.outcome();
    await reviewer.outcomes();
    await reviewer.becomes(t, before);
  });
