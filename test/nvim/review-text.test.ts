import { writeFileSync } from "node:fs";
import fc from "fast-check";
import t from "tap";
import { anyString, fuzz } from "../support/fuzz.ts";
import { shareNvim } from "../support/reset.ts";
import { startReviewer } from "../support/review.ts";

shareNvim(t);

const CASES: Record<string, string> = {
  "no final newline": "a\nb",
  "one final newline": "a\nb\n",
  "several final newlines": "a\n\n\n",
  "only a newline": "\n",
  "only newlines": "\n\n\n",
  CRLF: "a\r\nb\r\n",
  "CRLF without the last": "a\r\nb",
  "mixed endings": "a\r\nb\nc\r\n",
  "lone CR": "a\rb\n",
  "a CR at the end": "a\r\nb\r",
  "only a CR": "\r",
  "CR CR LF": "a\r\r\nb\r\r\n",
  BOM: "\ufeffa\n",
  "only a BOM": "\ufeff",
  "two BOMs": "\ufeff\ufeffa\n",
  NUL: "a\0b\n\0\n",
  "line separators": "a\u2028b\u2029c\u0085d\n",
  emoji: "👩‍👩‍👧‍👦 🇩🇪\n",
  "combining marks": "e\u0301a\u0308\u0301\n",
  controls: "\x01\x1b[31m\x7f\x1a\n",
  empty: "",
  "a modeline": "# vim: set ft=python noendofline ff=dos bomb nomodifiable:\n",
};

const FILES: Record<string, string> = {
  "lf.txt": "one\ntwo\n",
  "crlf.txt": "one\r\ntwo\r\n",
  "bare.txt": "one\ntwo",
  "bom.txt": "\ufeffone\n",
  "empty.txt": "",
  "binary.bin": "\0\xff\r\n\n",
};

t.test("accepted texts equal the proposed texts", async (t) => {
  const { reviewer } = await startReviewer(t, { files: FILES });
  for (const file of [...Object.keys(FILES), "new.txt", "not/there/yet.txt"]) {
    for (const loaded of [false, true]) {
      await t.test(`over ${file}${loaded ? ", open," : ""} every text comes back as it came`, async (t) => {
        await reviewer.nvim.command(`%bwipeout! ${loaded ? `| edit ${file}` : ""}`);
        const path = reviewer.nvim.path(file);
        for (const [name, text] of Object.entries(CASES)) {
          const id = await reviewer.open(path, text);
          t.equal(await reviewer.close(id), text, `${name}, closed`);
          const next = await reviewer.open(path, text);
          await reviewer.nvim.input(":GeminiAccept<CR>");
          t.same(
            await reviewer.outcome(),
            { name: "diff_accepted", payload: { id: next, content: text } },
            name,
          );
        }
        t.same(await reviewer.nvim.lua("return vim.fn.undotree().entries"), [], "the file is not touched");
      });
    }
  }
});

t.test("any proposal is returned byte for byte, even if it has replaced an earlier proposal", async (t) => {
  const { reviewer } = await startReviewer(t, { files: FILES });
  const unit = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom("\n", "\r", "\r\n", "\0", "\ufeff", "a", " ", "\t", "\u2028") },
    { weight: 1, arbitrary: anyString({ maxLength: 3 }) },
  );
  const text = fc.array(unit, { maxLength: 40 }).map((parts) => parts.join(""));
  const file = fc.constantFrom(...Object.keys(FILES), "new.txt");
  let id = 1000;
  await fc.assert(
    fc.asyncProperty(file, text, text, async (file, first, second) => {
      id++;
      const params = { id, filePath: reviewer.nvim.path(file), client: "Gemini CLI", label: "Gemini CLI" };
      await reviewer.show({ ...params, newContent: first });
      await reviewer.show({ ...params, newContent: second });
      return (await reviewer.close(id)) === second;
    }),
    fuzz(t, "texts", 300),
  );
});

t.test("large proposals are returned byte for byte", async (t) => {
  const { reviewer } = await startReviewer(t, { files: FILES });
  const large = {
    "a line of 1 MB": `${"xy".repeat(500_000)}\nend\n`,
    "many lines": "line\n".repeat(100_000),
  };
  for (const [name, text] of Object.entries(large)) {
    const id = await reviewer.open(reviewer.nvim.path("lf.txt"), text);
    await reviewer.nvim.input(":GeminiAccept<CR>");
    t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: text } }, name);
  }
});

t.test("a line of more than 1 MB is not compared character by character", async (t) => {
  const { reviewer } = await startReviewer(t, { files: { "long.txt": `${"abc ".repeat(500_000)}\n` } });
  const content = `${"abd ".repeat(500_000)}\n`;
  const id = await reviewer.open(reviewer.nvim.path("long.txt"), content);
  await reviewer.review();
  const isCompared =
    "return vim.iter(vim.api.nvim_list_wins()):any(function(win) return vim.wo[win].diff end)";
  t.equal(await reviewer.nvim.lua(isCompared), false);
  await reviewer.nvim.input(":GeminiAccept<CR>");
  t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content } });
});

const EDITED: [name: string, proposed: string, keys: string, accepted: string][] = [
  ["a line more keeps the missing final newline", "a\nb", "Goc<Esc>", "a\nb\nc"],
  ["a line more keeps CRLF", "a\r\nb\r\n", "Goc<Esc>", "a\r\nb\r\nc\r\n"],
  ["a line more keeps the BOM", "\ufeffa\n", "ggOc<Esc>", "\ufeffc\na\n"],
  ["a word in a mixed text leaves its endings", "a\r\nb\nc\r\n", "ggcwx<Esc>", "x\r\nb\nc\r\n"],
  ["the last line deleted", "a\nb\n", "Gdd", "a\n"],
  ["one empty line left", "a\nb\n", "ggdGo<Esc>kdd", "\n"],
  ["a text over nothing", "", "ihello<Esc>", "hello\n"],
];
t.test("an edited proposal keeps its line endings and encoding", async (t) => {
  const { reviewer } = await startReviewer(t, { files: FILES, init: "vim.o.fixeol = true" });
  for (const [name, proposed, keys, accepted] of EDITED) {
    const id = await reviewer.open(reviewer.nvim.path("lf.txt"), proposed);
    await reviewer.review();
    await reviewer.nvim.input(`${keys}:w<CR>`);
    t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: accepted } }, name);
  }
});

t.test("the final newline of a replaced proposal does not affect the next proposal", async (t) => {
  const { reviewer } = await startReviewer(t);
  for (const [file, first, second] of [
    ["a\nb\nc\n", "a\nb\nC", "X\nb\nc"],
    ["a\nb\nc", "a\nb\nC\n", "X\nb\nc\n"],
  ] as const) {
    const filePath = reviewer.nvim.path("a.txt");
    writeFileSync(filePath, file);
    const id = await reviewer.open(filePath, first);
    await reviewer.review();
    const win = (await reviewer.proposals())[0];
    await reviewer.nvim.waitFor(`vim.wo[${win}].winbar:find('1 hunk', 1, true)`, "the hunk to be counted");
    await reviewer.show({ id, filePath, newContent: second, client: "Gemini CLI", label: "Gemini CLI" });
    t.equal(await reviewer.close(id), second, JSON.stringify([file, first, second]));
  }
});

const ENDED: [file: string, proposed: string, command: string, accepted: string][] = [
  ["old\n", "a\nb", "setlocal endofline", "a\nb\n"],
  ["old", "a\nb\n", "setlocal noendofline", "a\nb"],
  ["old\n", "a\nb\n", "setlocal noendofline", "a\nb"],
  ["old\n", "a\nb", "setlocal endofline | call setline(1, 'x')", "x\nb\n"],
];
t.test("the user's own 'endofline' is accepted", async (t) => {
  const { reviewer } = await startReviewer(t);
  for (const [file, proposed, command, content] of ENDED) {
    writeFileSync(reviewer.nvim.path("a.txt"), file);
    const id = await reviewer.open(reviewer.nvim.path("a.txt"), proposed);
    await reviewer.review();
    await reviewer.nvim.input(`:${command}<CR>:w<CR>`);
    t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content } }, command);
  }
});

t.test("an emptied proposal stays open, and the user is told", async (t) => {
  const { reviewer } = await startReviewer(t, { files: FILES });
  await reviewer.open(reviewer.nvim.path("lf.txt"), "a\nb\n");
  await reviewer.review();
  for (const keys of [":w<CR>", ":wq<CR>", "ZZ", ":x<CR>", ":GeminiAccept<CR>"]) {
    await reviewer.nvim.input(`ggdG${keys}`);
    t.same(await reviewer.outcomes(), [], keys);
    t.match(await reviewer.nvim.messages(), /cannot receive an empty text/);
    t.equal((await reviewer.proposals()).length, 1, `${keys} closes nothing`);
    await reviewer.nvim.command("messages clear");
  }
});

/** Lua that returns the highlights of Neovim's diff mode for each line in both windows. */
const HIGHLIGHTED = `
local lines = {}
for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  if vim.wo[win].diff then
    vim.api.nvim_win_call(win, function()
      for line = 1, vim.fn.line('$') do
        if vim.fn.diff_hlID(line, 1) ~= 0 or vim.fn.diff_filler(line) ~= 0 then lines[#lines + 1] = vim.fn.getline(line) end
      end
      if vim.fn.diff_filler(vim.fn.line('$') + 1) ~= 0 then lines[#lines + 1] = 'ghost' end
    end)
  end
end
return lines`;
const SHOWN: [name: string, file: string, proposed: string, lines: string[]][] = [
  ["LF proposed for a CRLF file", "crlf.txt", "one\n2\n", ["two", "2"]],
  ["CRLF proposed for an LF file", "lf.txt", "one\r\n2\r\n", ["two", "2"]],
  ["no final newline any more", "lf.txt", "one\ntwo", []],
  ["a final newline more", "bare.txt", "one\ntwo\n", []],
  ["no BOM any more", "bom.txt", "one\n", []],
  ["nothing", "lf.txt", "one\ntwo\n", []],
];
t.test("a review highlights only text that differs", async (t) => {
  const { reviewer } = await startReviewer(t, { files: FILES });
  for (const [name, file, proposed, lines] of SHOWN) {
    for (const loaded of [false, true]) {
      await reviewer.nvim.command(`%bwipeout! ${loaded ? `| edit ${file}` : ""}`);
      const id = await reviewer.open(reviewer.nvim.path(file), proposed);
      t.same(await reviewer.nvim.lua(HIGHLIGHTED), lines, `${name}${loaded ? ", file open" : ""}`);
      await reviewer.close(id);
    }
  }
});
