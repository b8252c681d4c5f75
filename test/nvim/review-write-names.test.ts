import { readFileSync } from "node:fs";
import t from "tap";
import { start } from "../support/proposal.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

const MODIFIED = `return vim.iter(vim.api.nvim_list_bufs()):any(function(buf)
  return vim.b[buf].gemini_diff ~= nil and vim.bo[buf].modified
end)`;

/** Keys that accept a proposal by writing, with the resulting text. */
const ACCEPTS: [keys: string, map?: string, content?: (content: string) => string][] = [
  ["<C-s>", `vim.keymap.set({ 'i', 'n' }, '<C-s>', '<Esc><Cmd>w<CR>')`],
  ["A<C-s>", `vim.keymap.set({ 'i', 'n' }, '<C-s>', '<Esc><Cmd>w<CR>')`],
  ["v<C-s>", `vim.keymap.set({ 'i', 'n', 'x' }, '<C-s>', '<Esc><Cmd>update<CR>')`],
  ["A<C-s>", `vim.keymap.set('i', '<C-s>', '<Cmd>w<CR>')`],
  [" w", `vim.keymap.set('n', '<Space>w', '<Cmd>w<Bar>nohlsearch<CR>')`],
  [" w", `vim.keymap.set('n', '<Space>w', '<Cmd>nohlsearch<Bar>silent! write<CR>')`],
  [" w", `vim.keymap.set('n', '<Space>w', ':write<CR>')`],
  [":w|echo 1<CR>"],
  [":nohlsearch | w<CR>"],
  [":w %<CR>"],
  [":w! %:p<CR>"],
  [":w ++ff=dos<CR>", "", (content) => content.replaceAll("\n", "\r\n")],
  [":%w<CR>"],
  [":1,$w!<CR>"],
  [":saveas! copy.txt<CR>:w<CR>"],
  [":file other.txt<CR>:w<CR>"],
];
for (const [keys, map, content] of ACCEPTS) {
  t.test(`${keys} accepts a proposal${map ? `, ${map}` : ""}`, async (t) => {
    const { reviewer, id, content: proposed } = await start(t, map ?? "", true);
    await reviewer.nvim.input(keys);
    const expected = content ? content(proposed) : proposed;
    t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: expected } });
    await reviewer.nvim.waitFor(
      async () => (await reviewer.proposals()).length === 0,
      "the windows to close",
    );
    t.notMatch(await reviewer.nvim.messages(), /E\d+:/);
  });
}

/** Keys that write something else, with the resulting message. The edit in the proposal stays unsaved. */
const REFUSED: [keys: string, says: RegExp, map?: string][] = [
  [":1,2w!<CR>", /Only the whole proposal can be accepted/],
  [":2w! %<CR>", /Only the whole proposal can be accepted/],
  [":saveas! copy.txt<CR>", /The name of this buffer cannot be changed: :w accepts the proposal/],
  [":file other.txt<CR>", /The name of this buffer cannot be changed: :w accepts the proposal/],
  [
    "<C-s>",
    /was not accepted, because a mapping or command wrote the buffer/,
    `vim.keymap.set('n', '<C-s>', function() vim.cmd('silent! write') end)`,
  ],
  [
    "<C-s>",
    /was not accepted, because a mapping or command wrote the buffer/,
    `vim.keymap.set('n', '<C-s>', '<Cmd>lua vim.cmd.write()<CR>')`,
  ],
  [":wall<CR>", /./],
  [":silent! wall<CR>", /./],
];
for (const [keys, says, map] of REFUSED) {
  t.test(`${keys} decides no review and loses no edit${map ? `, ${map}` : ""}`, async (t) => {
    const { reviewer, id, content } = await start(t, map ?? "", true);
    t.equal(await reviewer.nvim.lua(MODIFIED), true);
    await reviewer.nvim.input(keys);
    t.same(await reviewer.outcomes(), []);
    await reviewer.nvim.says(says);
    t.equal(await reviewer.nvim.lua(MODIFIED), true, "still modified");
    await reviewer.nvim.input(":w<CR>");
    t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content } });
  });
}

t.test(":w with a range and a name in a proposal writes these lines to another file", async (t) => {
  const { reviewer, id } = await start(t, "", true);
  await reviewer.nvim.input(":2,3w copy.txt<CR>");
  t.equal(readFileSync(reviewer.nvim.path("copy.txt"), "utf8"), "2\nthree\n");
  t.same(await reviewer.outcomes(), []);
  await reviewer.nvim.input(":q<CR>");
  t.same(await reviewer.outcome(), { name: "diff_rejected", payload: { id } });
});

t.test("keys that are typed ahead of a decision do not change a text that was already read", async (t) => {
  const { reviewer, id, content } = await start(t, "", true);
  await reviewer.nvim.input(":w<CR>Atyped ahead<Esc>");
  t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content } });
});
