/** Tests reviews whose windows or buffers are closed without a decision of the user. */
import t, { type Test } from "tap";
import { shareNvim } from "../support/reset.ts";
import { type Reviewer, startReviewer } from "../support/review.ts";

shareNvim(t);

const FILES = { "a.txt": "one\n", "b.txt": "b\n", "c.txt": "c\n" };

async function start(t: Test) {
  const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["c.txt"] });
  await nvim.command("mksession session.vim");
  const id = await reviewer.open(nvim.path("a.txt"), "two\n");
  return { reviewer, nvim, id };
}

const pending = "#require('gemini-bridge').diffs()";
const shown =
  "vim.iter(vim.api.nvim_list_wins()):any(function(w) return vim.b[vim.api.nvim_win_get_buf(w)].gemini_diff ~= nil end)";
const PROPOSAL_WINDOW = `vim.iter(vim.api.nvim_list_wins()):find(function(win)
  return vim.b[vim.api.nvim_win_get_buf(win)].gemini_diff ~= nil
end)`;

const ACCIDENTS: [name: string, act: (reviewer: Reviewer) => Promise<unknown>][] = [
  ["%bd|e#", ({ nvim }) => nvim.input(":%bd!|e#<CR>")],
  ["a mapping to %bd|e#", ({ nvim }) => nvim.input("<F6>")],
  ["a command for %bd|e#", ({ nvim }) => nvim.input(":Clean<CR>")],
  ["bufdo", ({ nvim }) => nvim.input(":bufdo bdelete!<CR>")],
  [
    "a timer",
    ({ nvim }) =>
      nvim.lua(
        `local w = ${PROPOSAL_WINDOW}; vim.defer_fn(function() vim.api.nvim_win_close(w, true) end, 1)`,
      ),
  ],
  ["a function", ({ nvim }) => nvim.input(":call TidyUp()<CR>")],
  ["an autocommand", ({ nvim }) => nvim.input(":doautocmd User TidyUp<CR>")],
  ["a script", ({ nvim }) => nvim.input(":source tidy.vim<CR>")],
  ["a session", ({ nvim }) => nvim.input(":source session.vim<CR>")],
  ["a plugin's mapping", ({ nvim }) => nvim.input("<F5>")],
  ["a plugin's command", ({ nvim }) => nvim.input(":Tidy<CR>")],
  [":tabonly in another tab page", ({ nvim }) => nvim.input(":tabnew<CR>:tabonly<CR>")],
  ["eventignore", ({ nvim }) => nvim.input(":set eventignore=all<CR>:only<CR>:set eventignore=<CR>")],
  [
    "noautocmd",
    ({ nvim }) => nvim.lua(`vim.cmd('noautocmd call nvim_win_close(' .. ${PROPOSAL_WINDOW} .. ', v:true)')`),
  ],
];
for (const [name, act] of ACCIDENTS)
  t.test(`a review that was closed by ${name} stays pending and can be shown again`, async (t) => {
    const { reviewer, nvim, id } = await start(t);
    await reviewer.open(nvim.path("b.txt"), "never shown\n");
    await nvim.lua(
      `vim.cmd("function! TidyUp()\\n only!\\n endfunction")
       vim.cmd("autocmd User TidyUp only!")
       vim.fn.writefile({ "only!" }, "tidy.vim")
       local function tidy()
         for _, buf in ipairs(vim.api.nvim_list_bufs()) do
           if buf ~= vim.api.nvim_get_current_buf() then vim.api.nvim_buf_delete(buf, { force = true }) end
         end
       end
       vim.keymap.set("n", "<F5>", tidy)
       vim.keymap.set("n", "<F6>", "<Cmd>%bd!|e#<CR>")
       vim.cmd("command! -bar Clean silent! %bd!|e#")
       vim.api.nvim_create_user_command("Tidy", tidy, {})
       vim.api.nvim_set_current_win(vim.fn.bufwinid("c.txt"))`,
    );
    await act(reviewer);
    await reviewer.outcomes();
    t.same(reviewer.received, [], "nothing is decided");
    t.equal(await nvim.lua(`return ${pending}`), 2);
    await nvim.input(":GeminiReview a.txt<CR>");
    await nvim.waitFor(
      "vim.fn.fnamemodify((vim.b.gemini_diff or {}).filePath or '', ':t') == 'a.txt'",
      "the review",
    );
    t.same(await nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)"), ["two"]);
    await nvim.input("Aedited<Esc>:w<CR>");
    t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: "twoedited\n" } });
    t.notMatch(await nvim.messages(), /E\d+:|stack traceback/);
  });

t.test("the message about a review that stays pending says how to show it again", async (t) => {
  const { reviewer, nvim } = await start(t);
  await nvim.input(":%bd!|e#<CR>");
  await reviewer.outcomes();
  await nvim.waitFor(
    async () =>
      /The proposal for a\.txt was closed but not rejected: :GeminiReview shows it again\./.test(
        (await nvim.messages()).replaceAll("\n", " "),
      ),
    "the message",
  );
});

t.test("edits of a proposal whose buffer was deleted are restored", async (t) => {
  const { reviewer, nvim, id } = await start(t);
  await reviewer.review();
  await nvim.input("Aedited<Esc>:%bd!|e#<CR>");
  await reviewer.outcomes();
  await nvim.input(":GeminiReview<CR>");
  await nvim.waitFor("vim.b.gemini_diff", "the review");
  t.same(await nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)"), ["twoedited"]);
  await nvim.input(":w<CR>");
  t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: "twoedited\n" } });
});

for (const keys of [":%bd!|e#|bd!<CR>:GeminiReview<CR>:w<CR>", ":%bd!|e#<CR>:GeminiAccept<CR>"])
  t.test(
    `text that :edit # shows for a deleted proposal does not count as typed by the user: ${keys}`,
    async (t) => {
      const { reviewer, nvim, id } = await start(t);
      await reviewer.review();
      await nvim.input(`Aedited<Esc>${keys}`);
      t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: "twoedited\n" } });
    },
  );

for (const close of [":only<CR>", "<C-w>o", ":bdelete! 0<CR>"])
  t.test(
    `${close} of the user decides ${close.startsWith(":bd") ? "nothing elsewhere" : "as before"}`,
    async (t) => {
      const { reviewer, nvim, id } = await start(t);
      await nvim.lua('vim.api.nvim_set_current_win(vim.fn.bufwinid("c.txt"))');
      await nvim.input(close);
      if (close.startsWith(":bd")) {
        await reviewer.outcomes();
        t.same(reviewer.received, []);
        t.ok(await nvim.lua(`return ${shown}`));
      } else t.same(await reviewer.outcome(), { name: "diff_rejected", payload: { id } });
    },
  );

t.test("a mapping to Lua that deletes all buffers does not reject the focused proposal", async (t) => {
  const { reviewer, nvim } = await start(t);
  await nvim.lua(`vim.keymap.set('n', '<F5>', function()
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do vim.api.nvim_buf_delete(buf, { force = true }) end
  end)`);
  await nvim.command("split new.txt"); // this buffer is deleted after the proposal
  await reviewer.review();
  await nvim.input("<F5>");
  t.same(await reviewer.outcomes(), []);
  t.equal(await nvim.lua(`return ${pending}`), 1);
});

t.test("a review can be decided although the buffer of its file was wiped", async (t) => {
  const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["a.txt"] });
  await nvim.lua(
    `vim.api.nvim_create_autocmd("User", { pattern = "GeminiDiffOpened", callback = function() _G.opened = true end })
     local buf, add = vim.api.nvim_get_current_buf(), require("gemini-bridge.review.records").add
     require("gemini-bridge.review.records").add = function(review)
       add(review)
       vim.schedule(function() vim.api.nvim_buf_delete(buf, { force = true }) end) -- before the review is completed
     end`,
  );
  await reviewer.open(nvim.path("a.txt"), "two\n");
  await nvim.waitFor("_G.opened", "the event");
  t.notMatch(await nvim.messages(), /Invalid buffer id/);
});

for (const place of ["beside its file", "alone in a tab page"])
  t.test(`a mapping to Lua that closes the focused proposal, ${place}, rejects the proposal`, async (t) => {
    const { reviewer, nvim, id } = await start(t);
    await nvim.lua("vim.keymap.set('n', '<F5>', function() vim.api.nvim_win_close(0, true) end)");
    await reviewer.review();
    await nvim.input(place === "beside its file" ? "<F5>" : "<C-w>T<F5>");
    t.same(await reviewer.outcome(), { name: "diff_rejected", payload: { id } });
  });
