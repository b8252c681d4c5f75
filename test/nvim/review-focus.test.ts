import { writeFileSync } from "node:fs";
import t, { type Test } from "tap";
import { Reviewer } from "../support/review.ts";

const FILES = { "a.txt": "one\ntwo\nthree\n", "b.txt": "b\n" };
const PROPOSED = "one\n2\nthree\n";
const TERMINAL = `vim.cmd.edit('b.txt') vim.cmd('vertical botright split') vim.cmd.terminal('cat') vim.cmd.startinsert()`;
const WHERE = "return { vim.api.nvim_get_current_win(), vim.api.nvim_get_mode().mode }";

async function start(t: Test, lua: string, init = "") {
  const reviewer = await Reviewer.start(t, { files: FILES, init });
  await reviewer.nvim.lua(lua);
  if (lua.includes("startinsert"))
    await reviewer.nvim.waitFor(`vim.api.nvim_get_mode().mode == 't'`, "Terminal mode");
  return reviewer;
}

t.test("keys typed while reviews open and close reach the text they are meant for", async (t) => {
  for (const layout of ["auto", "tab"]) {
    for (const file of ["b.txt", "a.txt"]) {
      const init = `require('gemini-bridge').setup({ diff = { layout = '${layout}' } })`;
      const reviewer = await start(t, `vim.cmd.edit('${file}') vim.cmd('normal! G')`, init);
      await reviewer.nvim.input("o");
      let typed = "";
      for (let round = 0; round < 15; round++) {
        const keys = `word${round} `;
        typed += keys;
        const typing = reviewer.nvim.nvim.request("nvim_input", [keys]);
        const id = await reviewer.open(reviewer.nvim.path("a.txt"), `${PROPOSED}${round}\n`);
        reviewer.nvim.nvim.notify("nvim_input", ["x"]);
        typed += "x";
        await typing;
        t.equal(await reviewer.close(id), `${PROPOSED}${round}\n`, "no key lands in the proposal");
      }
      await reviewer.nvim.input("");
      t.same(
        await reviewer.nvim.lua("return { vim.api.nvim_get_mode().mode, vim.api.nvim_get_current_line() }"),
        ["i", typed],
      );
    }
  }
});

const MODES: [name: string, keys: string][] = [
  ["Visual mode", "vl"],
  ["linewise Visual mode", "V"],
  ["blockwise Visual mode", "<C-v>l"],
  ["Insert mode", "A more"],
  ["Replace mode", "Rx"],
  ["an operator", "d"],
  ["the command line", ":echo 1"],
  ["a search", "/tw"],
];
for (const layout of ["auto", "tab"]) {
  for (const [name, keys] of MODES) {
    t.test(`${name} goes on, layout ${layout}`, async (t) => {
      const init = `require('gemini-bridge').setup({ diff = { layout = '${layout}' } })`;
      const reviewer = await start(t, `vim.cmd.edit('b.txt')`, init);
      await reviewer.nvim.input(keys);
      const before = await reviewer.nvim.nvim.mode;
      await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED);
      t.same(await reviewer.nvim.nvim.mode, before);
      await reviewer.nvim.lua(`require('gemini-bridge').reject()`);
      t.same(await reviewer.nvim.nvim.mode, before);
      await reviewer.nvim.input("<Esc>");
      t.same(await reviewer.proposals(), []);
    });
  }
}

t.test("what is typed into a terminal goes on reaching it", async (t) => {
  const reviewer = await start(t, TERMINAL);
  const where = await reviewer.nvim.lua(WHERE);
  await reviewer.nvim.input("before ");
  const id = await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED);
  t.same(await reviewer.nvim.lua(WHERE), where);
  await reviewer.nvim.input("meanwhile ");
  await reviewer.close(id);
  t.same(await reviewer.nvim.lua(WHERE), where);
  await reviewer.nvim.input("after<CR>");
  await reviewer.nvim.waitFor(
    `table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false)):find('before meanwhile after', 1, true)`,
    "the text in the terminal",
  );
});

t.test("from a terminal to the review and back", async (t) => {
  const decisions = [":w<CR>", ":q<CR>", "ZZ", ":wq<CR>", "ix<Esc>:x<CR>", ":GeminiReject<CR>"];
  for (const go of ["<C-\\><C-n>:GeminiReview<CR>", "<C-\\><C-n><C-w>w", "<C-g>"]) {
    const reviewer = await start(t, `vim.keymap.set('t', '<C-g>', '<Cmd>GeminiReview<CR>') ${TERMINAL}`);
    const before = await reviewer.layout();
    for (const keys of decisions) {
      await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED);
      await reviewer.nvim.input(go);
      if (go.endsWith("w"))
        await reviewer.nvim.lua(`vim.api.nvim_set_current_win(...)`, (await reviewer.proposals())[0]);
      t.same(await reviewer.nvim.lua("return { vim.b.gemini_diff.role, vim.api.nvim_get_mode().mode }"), [
        "proposal",
        "n",
      ]);
      await reviewer.nvim.input(keys);
      await reviewer.outcome();
      await reviewer.nvim.waitFor(
        `vim.api.nvim_get_mode().mode == 't'`,
        `Terminal mode after ${go} and ${keys}`,
      );
      t.same(await reviewer.layout(), before);
    }
    await reviewer.nvim.close();
  }
});

t.test(
  "whoever left Terminal mode to decide stays in Normal mode: the next keys are no answer to the CLI",
  async (t) => {
    const reviewer = await start(t, TERMINAL);
    await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED);
    const second = await reviewer.open(reviewer.nvim.path("b.txt"), "second\n");
    await reviewer.nvim.input("<C-\\><C-n>:GeminiAccept a.txt<CR>");
    await reviewer.outcome();
    await reviewer.nvim.input(":GeminiReject<CR>");
    t.same(await reviewer.outcome(), { name: "diff_rejected", payload: { id: second } });
    await reviewer.nvim.input("");
    t.equal((await reviewer.nvim.nvim.mode).mode, "nt");
    t.notMatch(
      await reviewer.nvim.lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false))"),
      /Gemini/,
    );
  },
);

t.test("a CLI that closes its review while the user is in it takes them back", async (t) => {
  const reviewer = await start(t, TERMINAL);
  const before = await reviewer.layout();
  const id = await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED);
  await reviewer.nvim.input("<C-\\><C-n>:GeminiReview<CR>Ax");
  t.equal(await reviewer.close(id), "onex\n2\nthree\n".replace("onex\n2", "one\n2x"));
  await reviewer.nvim.waitFor(`vim.api.nvim_get_mode().mode == 't'`, "Terminal mode");
  t.same(await reviewer.layout(), before);
});

t.test("from Insert mode to the review and back", async (t) => {
  for (const [keys, line] of [
    ["A more", "b more and on"],
    ["A more<Left><Left>", "b mo and onre"],
  ] as const) {
    const reviewer = await start(
      t,
      `vim.keymap.set('i', '<C-g>', '<Cmd>GeminiReview<CR>') vim.cmd.edit('b.txt')`,
    );
    await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED);
    await reviewer.nvim.input(`${keys}<C-g>`);
    t.same(await reviewer.nvim.lua("return { vim.b.gemini_diff.role, vim.api.nvim_get_mode().mode }"), [
      "proposal",
      "n",
    ]);
    await reviewer.nvim.input(":w<CR>");
    await reviewer.outcome();
    await reviewer.nvim.waitFor(`vim.api.nvim_get_mode().mode == 'i'`, "Insert mode");
    await reviewer.nvim.input(" and on");
    t.equal(await reviewer.nvim.lua("return vim.api.nvim_get_current_line()"), line);
  }
});

t.test(":GeminiReview lands on the first hunk and comes back to the same place", async (t) => {
  const lines = Array.from({ length: 300 }, (_, index) => `${index}\n`).join("");
  const reviewer = await start(t, `vim.cmd.edit('b.txt')`);
  const path = reviewer.nvim.path("long.txt");
  writeFileSync(path, lines);
  await reviewer.nvim.lua(`vim.cmd.edit('long.txt') vim.cmd('40') vim.cmd('normal! zt3l')`);
  const before = await reviewer.layout();
  await reviewer.open(path, lines.replace("\n200\n", "\ntwo hundred\n"));
  t.same(await reviewer.nvim.lua("return vim.api.nvim_win_get_cursor(0)[1]"), 40, "the user is not scrolled");
  await reviewer.nvim.input(":GeminiReview<CR>");
  t.equal(await reviewer.nvim.lua("return vim.api.nvim_get_current_line()"), "two hundred");
  await reviewer.nvim.input("gg:GeminiReject<CR>");
  t.same(await reviewer.layout(), before);
});

t.test("one notification for each proposal, which never asks to press ENTER", async (t) => {
  const reviewer = await start(t, `vim.o.columns = 60 vim.cmd.edit('b.txt')`);
  const params = [1, 2, 3].map((id) => ({
    id,
    filePath: reviewer.nvim.path(`${"deep/".repeat(30)}${id}.txt`),
    newContent: "x\n",
    textId: `${id}`,
    client: "a client with a name that does not end ".repeat(3),
    label: "Gemini CLI",
  }));
  await reviewer.nvim.lua(
    `for _, params in ipairs(...) do require('gemini-bridge.host.rpc').call('diff_open', params) end`,
    params,
  );
  await Promise.all([4, 5].map((id) => reviewer.show({ ...params[0], id } as (typeof params)[0] & object)));
  t.equal((await reviewer.nvim.nvim.mode).blocking, false);
  const messages = (await reviewer.nvim.messages()).trim().split("\n");
  t.equal(messages.length, 5);
  t.match(messages[0], /^gemini-bridge: Gemini CLI proposes a change to .*1\.txt$/);
  t.match(messages[2], /3\.txt \(2 more waiting\)$/);
});
