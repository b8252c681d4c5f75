import t from "tap";
import { PROPOSED, prepare, propose, start } from "../support/proposal.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

const MAPS = `
vim.g.mapleader = ' '
vim.keymap.set('n', '<leader>w', ':w<CR>')
vim.keymap.set('n', '<leader>c', '<Cmd>w<CR>')
vim.keymap.set({ 'n', 'i' }, '<C-s>', '<Cmd>silent! update<CR>')
vim.keymap.set('n', '<leader>x', '<Cmd>x<CR>')
vim.cmd('cnoreabbrev ww w')
vim.cmd('command! -bang W w<bang>')
`;
const ACCEPTS = [
  ":GeminiAccept<CR>",
  ":w<CR>",
  ":w!<CR>",
  ":silent write<CR>",
  ":w|echo 1<CR>",
  ":wq<CR>",
  ":x<CR>",
  ":xit<CR>",
  ":update<CR>",
  "ZZ",
  "\\a",
  ":GeminiAccept a.txt<CR>",
  ':lua require("gemini-bridge").accept()<CR>',
  " w",
  " c",
  " x",
  "<C-s>",
  "i<C-s><Esc>",
  "i<C-o>:w<CR>",
  ":ww<CR>",
  ":W<CR>",
];
for (const edited of [false, true]) {
  t.test(`accepting ${edited ? "an edited" : "an untouched"} proposal sends its text`, async (t) => {
    const { reviewer } = await prepare(t, MAPS);
    const before = await reviewer.layout();
    for (const keys of ACCEPTS) {
      const { id, content } = await propose(reviewer, edited);
      await reviewer.nvim.input(keys);
      t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content } }, keys);
      t.same(await reviewer.outcomes(), [], "and nothing else");
      await reviewer.becomes(t, before, "all is as before");
    }
  });
}

const REJECTS = [
  ":GeminiReject<CR>",
  ":GeminiReject a.txt<CR>",
  "\\r",
  ":q<CR>",
  ":q!<CR>",
  "ZQ",
  ":close<CR>",
  "<C-w>c",
  ":bd!<CR>",
  ":bw!<CR>",
  ":bunload!<CR>",
];
for (const edited of [false, true]) {
  for (const hidden of [true, false]) {
    const name = `rejecting ${edited ? "an edited" : "an untouched"} proposal, ${hidden ? "" : "no"}hidden`;
    t.test(name, async (t) => {
      const { reviewer } = await prepare(t, `vim.o.hidden = ${hidden}`);
      const before = await reviewer.layout();
      for (const keys of edited ? REJECTS : [...REJECTS, ":bd<CR>", ":bw<CR>"]) {
        const { id } = await propose(reviewer, edited);
        await reviewer.nvim.input(keys);
        t.same(await reviewer.outcome(), { name: "diff_rejected", payload: { id } }, keys);
        t.same(await reviewer.outcomes(), [], "and nothing else");
        await reviewer.becomes(t, before, "all is as before");
      }
    });
  }
}

t.test(":only in another window rejects a proposal", async (t) => {
  for (const edited of [false, true]) {
    const { reviewer, id } = await start(t, "", edited);
    await reviewer.nvim.input(":new<CR>:only<CR>");
    t.same(await reviewer.outcome(), { name: "diff_rejected", payload: { id } });
    t.same(await reviewer.outcomes(), []);
    t.equal(await reviewer.nvim.lua("return #vim.api.nvim_list_wins()"), 1);
  }
});

t.test("closing the tab page rejects a proposal", async (t) => {
  const { reviewer, id } = await start(t);
  await reviewer.nvim.input(":tab split<CR>:tabfirst<CR>");
  await reviewer.nvim.input(":tabclose<CR>");
  t.same(await reviewer.outcomes(), [], "it is shown in another tab page still");
  await reviewer.nvim.input(":tabnew<CR>:tabfirst<CR>:tabclose<CR>");
  t.same(await reviewer.outcome(), { name: "diff_rejected", payload: { id } });
});

t.test("a review stays open until the last window of the proposal is closed", async (t) => {
  const { reviewer, id } = await start(t);
  await reviewer.nvim.input(":split<CR>:q<CR>");
  t.same(await reviewer.outcomes(), []);
  await reviewer.nvim.input(":q<CR>");
  t.same(await reviewer.outcome(), { name: "diff_rejected", payload: { id } });
});

t.test("a proposal in the only window of Neovim can be decided, and Neovim does not exit", async (t) => {
  const { reviewer } = await prepare(t, "");
  for (const keys of [":q<CR>", ":q!<CR>", "ZQ", ":GeminiReject<CR>", ":wq<CR>", "ZZ", ":GeminiAccept<CR>"]) {
    const { id } = await propose(reviewer, false);
    await reviewer.nvim.input(`:only<CR>${keys}`);
    const outcome = /w|ZZ|Accept/.test(keys)
      ? { name: "diff_accepted", payload: { id, content: PROPOSED } }
      : { name: "diff_rejected", payload: { id } };
    t.same(await reviewer.outcome(), outcome, keys);
    t.same(await reviewer.outcomes(), [], "and nothing else");
    t.same(await reviewer.proposals(), []);
    t.match(await reviewer.nvim.lua("return vim.api.nvim_buf_get_name(0)"), /b\.txt$/);
    const left = await reviewer.nvim.lua('return vim.wo.diff or vim.wo.scrollbind or vim.wo.winbar ~= ""');
    t.equal(left, false, "the window has no options of the review");
  }
});

t.test("with write_accepts = false, :w in a proposal is refused", async (t) => {
  const { reviewer } = await prepare(
    t,
    `require('gemini-bridge').setup({ diff = { write_accepts = false } })`,
  );
  for (const edited of [false, true]) {
    for (const keys of [":w<CR>", ":wq<CR>", ":x<CR>", "ZZ", ":update<CR>"]) {
      const { id, content } = await propose(reviewer, edited);
      await reviewer.nvim.command("messages clear");
      await reviewer.nvim.input(keys);
      t.same(await reviewer.outcomes(), [], keys);
      t.equal((await reviewer.proposals()).length, 1);
      t.match(await reviewer.nvim.messages(), /:w does not accept a proposal/);
      await reviewer.nvim.input(":GeminiAccept<CR>");
      t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content } });
    }
  }
});

t.test("a pending review does not prevent quitting Neovim, and stays undecided", async (t) => {
  for (const keys of [":qall<CR>", ":qa!<CR>", ":wqall<CR>", ":xall<CR>", ":confirm qall<CR>"]) {
    for (const edited of [false, true]) {
      t.test(`${keys} decides a review${edited ? " after an edit" : ""}`, async (t) => {
        const { reviewer } = await start(t, "", edited);
        reviewer.nvim.nvim.notify("nvim_input", [keys]);
        t.same(await reviewer.nvim.exited, { code: 0, signal: null });
        t.same(reviewer.received, []);
      });
    }
  }
});

t.test("a :qall that a modified buffer prevents does not change a review", async (t) => {
  const { reviewer, id, content } = await start(t, "", true);
  await reviewer.nvim.lua(`vim.bo[vim.fn.bufnr('b.txt')].modified = true`);
  await reviewer.nvim.input(":qall<CR>");
  await reviewer.nvim.input("<CR>");
  t.same(await reviewer.outcomes(), []);
  await reviewer.nvim.input(":GeminiAccept<CR>");
  t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content } });
});

t.test("closeDiff returns the text of the proposal, only once", async (t) => {
  for (const reason of ["cli", "disconnected", "stopped"] as const) {
    const { reviewer, id, before } = await start(t, "", true);
    t.equal(await reviewer.close(id, reason), "one\n2\nthree\n");
    await reviewer.becomes(t, before);
    const kept = await reviewer.nvim.lua("return vim.fn.bufexists('gemini://kept/1/a.txt')");
    t.equal(kept, reason === "cli" ? 0 : 1, "a CLI that closes the review gets the text");
    t.same(await reviewer.outcomes(), []);
    await t.rejects(reviewer.close(id), { message: "this review is closed already" });
    const messages = await reviewer.nvim.messages();
    t.equal(/Gemini CLI has disconnected/.test(messages), reason === "disconnected");
  }
});

t.test("stopping the bridge closes reviews without an outcome", async (t) => {
  const { reviewer, before } = await start(t, "", true);
  await reviewer.nvim.lua(`require('gemini-bridge.review.requests').close_all('stopped')`);
  t.same(await reviewer.outcomes(), []);
  const { buffers: _, ...layout } = await reviewer.layout();
  t.match(before, layout);
});

t.test("keys typed after a decision do not change the decision", async (t) => {
  const { reviewer, id } = await start(t);
  await reviewer.nvim.input(":w<CR>ggdGifoo<Esc>:q<CR>");
  t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: PROPOSED } });
  t.same(await reviewer.outcomes(), []);
});

t.test("each outcome of a review fires its event", async (t) => {
  const init = `_G.fired = {}
  vim.api.nvim_create_autocmd('User', { pattern = 'GeminiDiff*', callback = function(args)
    table.insert(fired, { args.match, args.data.id, vim.fs.basename(args.data.filePath), args.data.client })
  end })`;
  const { reviewer, id } = await start(t, init);
  await reviewer.nvim.input(":w<CR>");
  const next = await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED, "two");
  await reviewer.nvim.input(":GeminiReject<CR>");
  const last = await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED);
  await reviewer.close(last);
  t.same(await reviewer.nvim.lua("return fired"), [
    ["GeminiDiffOpened", id, "a.txt", "Gemini CLI"],
    ["GeminiDiffAccepted", id, "a.txt", "Gemini CLI"],
    ["GeminiDiffOpened", next, "a.txt", "two"],
    ["GeminiDiffRejected", next, "a.txt", "two"],
    ["GeminiDiffOpened", last, "a.txt", "Gemini CLI"],
    ["GeminiDiffClosed", last, "a.txt", "Gemini CLI"],
  ]);
});
