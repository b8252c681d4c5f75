import { execFileSync } from "node:child_process";
import t from "tap";
import { z } from "zod";
import { layout, shows, startWithAgent } from "../support/agent.ts";

const LINES = [
  `-i "say hello world"`,
  `--prompt-interactive='say hello world' -m "x"`,
  `a\\ b  c\\\\d \\"e\\' '"' "'"`,
  `'' "" a''b "c"'d'e`,
  `"a \\"b\\" \\$HOME \\\`x\\\` \\\\ \\n \\a"`,
  `'it'\\''s $HOME \\n #{x}'`,
  `\té 'ü "漢字"' \u{1f600}`,
  "",
  "   ",
];

const Split = z.tuple([z.array(z.string()).nullable(), z.string().nullable()]);

t.test("arguments of :Gemini are split as in a shell", async (t) => {
  const nvim = await startWithAgent(t);
  const split = async (line: string) =>
    Split.parse(
      await nvim.lua(
        `local words, problem = require('gemini-bridge.terminal.shell_words').split(...)
         return { words or vim.NIL, problem or vim.NIL }`,
        line,
      ),
    );
  for (const line of LINES) {
    const shell = execFileSync("sh", ["-c", `set -- ${line}\nfor word; do printf '%s\\0' "$word"; done`]);
    t.same(await split(line), [shell.toString().split("\0").slice(0, -1), null], line);
  }
  for (const line of [`-i "say hello`, "a 'b", `a"b\\"`]) {
    t.throws(() => execFileSync("sh", ["-c", `set -- ${line}`], { stdio: "pipe" }), line);
    t.match(await split(line), [null, /has no closing quote/], line);
  }
  t.match(await split("a\\"), [null, /no character follows the last backslash/]);
  for (const name of [`a b`, `it's`, `"q" \\`, "é\t漢"]) {
    t.same(
      await nvim.lua(
        "return require('gemini-bridge.terminal.shell_words').split(require('gemini-bridge.terminal.shell_words').escape(...))",
        name,
      ),
      [name],
    );
  }
});

t.test(":Gemini passes the words to the CLI, and reports a missing quote", async (t) => {
  const nvim = await startWithAgent(t);
  await nvim.input(`:Gemini name='my "tests"' -i "say hello  world" ''<CR>`);
  await shows(nvim, /args <-i say hello {2}world > in/, `my "tests"`);
  await nvim.input("<C-\\><C-n><C-w>p");
  await nvim.input(`:Gemini -i "say<CR>`);
  t.match(await nvim.messages(), /:Gemini: "say has no closing quote/);
  t.match(await layout(nvim), { windows: { length: 2 } }, "nothing was opened");

  const completed = z
    .array(z.string())
    .parse(await nvim.lua("return vim.fn.getcompletion('Gemini name=my', 'cmdline')"));
  t.same(completed, [`name=my\\ \\"tests\\"`]);
  await nvim.command(`Gemini ${completed[0]}`);
  t.match(
    await layout(nvim),
    { current: `my "tests"`, windows: { length: 2 } },
    "what is completed is found",
  );
});
