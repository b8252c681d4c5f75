import t, { type Test } from "tap";
import { shareNvim } from "../support/reset.ts";
import { startReviewer } from "../support/review.ts";

shareNvim(t);

const TEXT = `return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n') .. '\\n'`;

async function start(t: Test, file: string, proposed: string, init = "") {
  const { reviewer } = await startReviewer(t, {
    files: { "a.txt": file, "b.txt": "b\n" },
    args: ["b.txt"],
    init,
  });
  const id = await reviewer.open(reviewer.nvim.path("a.txt"), proposed);
  await reviewer.review();
  const winbar = `vim.wo[${(await reviewer.proposals())[0]}].winbar`;
  return { reviewer, nvim: reviewer.nvim, id, winbar };
}

t.test("revert of an undone hunk keeps the user's own edits", async (t) => {
  for (const [file, proposed, at] of [
    ["one\ntwo\nthree\nfour\n", "one\n2\nthree\nfour\n", "2G"],
    ["one\ntwo\n", "zero\none\ntwo\n", "gg"],
    ["one\ntwo\nthree\n", "two\nthree\n", "gg"],
    ["one\ntwo\n", "one\ntwo\nthree\n", "G"],
  ] as const) {
    const { nvim } = await start(t, file, proposed);
    await nvim.input(`${at}\\x`);
    t.equal(await nvim.lua(TEXT), file);
    await nvim.input("Gomine<Esc>\\u");
    t.equal(await nvim.lua(TEXT), `${proposed}mine\n`, JSON.stringify(proposed));
    await nvim.close();
  }
});

t.test("revert without a kept or undone hunk changes nothing and shows a message", async (t) => {
  const { nvim } = await start(t, "one\ntwo\n", "one\n2\n");
  await nvim.input("Gomine<Esc>\\u");
  t.equal(await nvim.lua(TEXT), "one\n2\nmine\n");
  t.match(await nvim.messages(), /There is no keep or undo to revert/);
});

t.test("undo of a hunk that the user has edited is refused with a message", async (t) => {
  const { nvim } = await start(t, "one\ntwo\nthree\n", "one\n2\nthree\n");
  await nvim.input("2G\\x2GAmine<Esc>\\u");
  t.equal(await nvim.lua(TEXT), "one\ntwomine\nthree\n");
  t.match(await nvim.messages(), /You have edited this hunk since you kept or undid it\./);
});

t.test("hunks at the first and last line, and hunks in an empty text, can be undone", async (t) => {
  for (const [file, proposed] of [
    ["a\nb\nc\n", "b\nc\n"],
    ["a\nb\nc\n", "a\nb\n"],
    ["a\n", "x\na\n"],
    ["a\n", "a\nx\n"],
    ["a\nb\n", "x\n"],
    ["", "x\n"],
  ] as const) {
    const { reviewer, nvim, id, winbar } = await start(t, file, proposed);
    await nvim.input("gg\\xG\\x");
    await nvim.waitFor(`${winbar}:find('0 hunks', 1, true)`, "no hunk to be left");
    await nvim.input("\\u\\u");
    await nvim.waitFor(`not ${winbar}:find('0 hunks', 1, true)`, "the hunk to be back");
    t.equal(await reviewer.close(id), proposed, JSON.stringify([file, proposed]));
    await nvim.close();
  }
});

t.test('"0 hunks" is shown only for equal bytes', async (t) => {
  for (const [file, proposed, says, init] of [
    ["a\nb\n", "a\nb\n", /0 hunks/, ""],
    ["a\nb\n", "a\nb", /final newline differs|1 hunk/, ""],
    ["a\r\nb\r\n", "a\nb\n", /line breaks differ/, ""],
    ["\uFEFFa\nb\n", "a\nb\n", /byte order mark differs/, ""],
    ["a\nb\n", "a  \nb\n", /1 hunk/, "vim.opt.diffopt:append('iwhite')"],
  ] as const) {
    const { nvim, winbar } = await start(t, file, proposed, init);
    t.match(await nvim.lua(`return ${winbar}`), says, JSON.stringify([file, proposed]));
    if (file !== proposed) t.notMatch(await nvim.lua(`return ${winbar}`), /0 hunks/);
    await nvim.close();
  }
});

for (const layout of ["inline", "vertical"])
  t.test(
    `an undone hunk gets the lines of the file although the file's buffer is gone: ${layout}`,
    async (t) => {
      const init = `require('gemini-bridge').setup({ diff = { layout = '${layout}' } })`;
      const { reviewer, nvim } = await startReviewer(t, { files: { "b.txt": "b\n" }, args: ["b.txt"], init });
      for (const end of ["bdelete", "bwipeout"]) {
        const file = `${end}.txt`;
        await nvim.lua("vim.fn.writefile({ 'one', 'two', 'three' }, ...)", file);
        await nvim.command(`edit ${file} | edit b.txt`);
        const id = await reviewer.open(nvim.path(file), "one\n2\nthree\n");
        await reviewer.review();
        await nvim.command(`${end} ${file}`);
        await nvim.input("gg]h\\x");
        t.equal(await nvim.lua(TEXT), "one\ntwo\nthree\n", end);
        await nvim.input("\\u");
        t.equal(await nvim.lua(TEXT), "one\n2\nthree\n", "undo restores the hunk");
        const win = (await reviewer.proposals())[0];
        t.match(await nvim.lua("return vim.wo[...].winbar", win), "· 1 hunk ·", "hunks are still counted");
        t.notMatch(await nvim.messages(), /E\d+:/);
        t.equal(await reviewer.close(id), "one\n2\nthree\n");
        await reviewer.outcomes();
      }
    },
  );
