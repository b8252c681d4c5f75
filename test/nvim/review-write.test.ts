import t from "tap";
import { prepare, propose, start } from "../support/proposal.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

const AUTOSAVE: Record<string, string> = {
  "silent! wall in InsertLeave, nested": `
    vim.api.nvim_create_autocmd({ 'InsertLeave', 'TextChanged' }, { nested = true, command = 'silent! wall' })`,
  "update in InsertLeave": `
    vim.api.nvim_create_autocmd('InsertLeave', { nested = true, callback = function() vim.cmd('silent! update') end })`,
  "update scheduled by InsertLeave": `
    vim.api.nvim_create_autocmd('InsertLeave', { callback = vim.schedule_wrap(function() vim.cmd('silent! update') end) })`,
  "write on a timer": `
    vim.uv.new_timer():start(5, 5, vim.schedule_wrap(function() vim.cmd('silent! write') end))`,
  "update in every buffer on a timer": `
    vim.uv.new_timer():start(5, 5, vim.schedule_wrap(function()
      for _, buf in ipairs(vim.api.nvim_list_bufs()) do
        vim.api.nvim_buf_call(buf, function() vim.cmd('silent! update') end)
      end
    end))`,
  "timer_start in Vim script": `
    vim.cmd([[call timer_start(5, { -> execute('silent! wall') }, #{ repeat: -1 })]])`,
  "a function in CursorMoved": `
    vim.cmd([[function! Save()
      silent! update
    endfunction
    autocmd CursorMoved,CursorHold,TextChanged,InsertLeave * ++nested call Save()]])
    vim.o.updatetime = 5`,
  "the command line of a plugin": `
    vim.api.nvim_create_autocmd('InsertLeave', { callback = function() vim.api.nvim_feedkeys(':silent! wall\\r', 'n', false) end })`,
  autowriteall: "vim.o.autowriteall = true",
};
for (const [name, init] of Object.entries(AUTOSAVE)) {
  t.test(`auto-save does not accept a proposal: ${name}`, async (t) => {
    const { reviewer, content, id } = await start(t, init, true);
    await reviewer.nvim.input("jk:w other.txt<CR>gg<C-w>p<C-w>p:echo 1<CR>");
    await reviewer.nvim.lua("vim.wait(60)");
    t.same(await reviewer.outcomes(), []);
    t.equal((await reviewer.proposals()).length, 1);
    await reviewer.nvim.input(":w<CR>");
    t.same(
      await reviewer.outcome(),
      { name: "diff_accepted", payload: { id, content } },
      "but :w still does",
    );
  });
}

t.test(
  "a mapping to a Lua function or to :wall does not accept a proposal, and a message says so",
  async (t) => {
    const { reviewer, id, content } = await start(
      t,
      `vim.keymap.set('n', '<C-s>', function() vim.cmd('silent! wall') end)
     vim.keymap.set('n', '<C-q>', '<Cmd>wall<CR>')`,
      true,
    );
    await reviewer.nvim.input("<C-q>");
    await reviewer.nvim.lua("vim.bo.modified = true");
    await reviewer.nvim.input("<C-s>");
    t.same(await reviewer.outcomes(), []);
    t.match(
      await reviewer.nvim.messages(),
      /The proposal was not accepted, because a mapping or command wrote the buffer: type :w to accept it\./,
    );
    await reviewer.nvim.input(":w<CR>");
    t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content } });
  },
);

const NO_DECISION = [
  ":wall<CR>",
  ":wa<CR>",
  ":silent! wa<CR>",
  ":w copy.txt<CR>",
  ":saveas! copy.txt<CR>",
  ":2w! copy.txt<CR>",
  ":w >> copy.txt<CR>",
  ":1w<CR><CR>",
  ":w !cat<CR><CR>",
  ":e!<CR>",
  "<C-w>w",
  "<C-w>p:w<CR>",
  ":bufdo silent! update<CR>",
  ":tab split<CR>:tabclose<CR>",
  "<C-w>T",
];
for (const edited of [false, true]) {
  t.test(`keys for other files and windows decide no review${edited ? " after an edit" : ""}`, async (t) => {
    const { reviewer } = await prepare(t, "vim.o.autowriteall = true");
    for (const keys of NO_DECISION) {
      const { id } = await propose(reviewer, edited);
      await reviewer.nvim.input(keys);
      t.same(await reviewer.outcomes(), [], keys);
      t.same(await reviewer.nvim.lua('return #require("gemini-bridge").diffs()'), 1);
      await reviewer.close(id);
      await reviewer.nvim.command("silent! tabonly | silent! only | edit! b.txt");
    }
  });
}

t.test(":w with another name writes the proposal to that file", async (t) => {
  const { reviewer, id } = await start(t, "", true);
  await reviewer.nvim.input(":w copy.txt<CR>");
  t.equal(await reviewer.nvim.lua('return io.open("copy.txt"):read("a")'), "one\n2\nthree\n");
  await reviewer.nvim.input(":w<CR>");
  t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: "one\n2\nthree\n" } });
});
