import t, { type Test } from "tap";
import { linkExtension } from "../support/extension.ts";
import { geminiIn, startWithGemini } from "../support/gemini.ts";
import { type Turn, writesFile } from "../support/model.ts";

const ORIGINAL = "const greeting = 'Hello';\n";

/** Returns a turn of the model that prints the given number of numbered lines. */
const says = (count: number, name: string): Turn => [
  { text: Array.from({ length: count }, (_, line) => `- ${name} ${line + 1}`).join("\n") },
];

/** Returns turns of the model that change greet.js and print a sentence. */
const writes = (path: string, sentence: string) => writesFile(path, `// new\n${ORIGINAL}`, sentence);

/** Starts a Neovim with a terminal UI, greet.js, and the real CLI in a terminal. */
async function start(t: Test) {
  const { nvim, model } = await startWithGemini(t, { tui: true, files: { "greet.js": ORIGINAL } });
  linkExtension(nvim.dirs.home);
  const seen = async (pattern: RegExp) => {
    let screen = "";
    const wanted = async () => {
      screen = (await nvim.screen()).join("\n");
      return pattern.test(screen);
    };
    await nvim.waitFor(wanted, "the screen").catch(() => {});
    t.match(screen, pattern);
  };
  await nvim.command("edit greet.js");
  await nvim.input(":Gemini<CR>");
  await geminiIn(nvim);
  await seen(/Type your message/);
  await nvim.input("<C-\\><C-n><C-w>p");
  await nvim.waitFor("vim.fn.expand('%:t') == 'greet.js'", "the file");
  return { nvim, model, seen };
}

t.test("new output and questions of the CLI are visible while the user is in a file", async (t) => {
  const { nvim, model, seen } = await start(t);
  model.say(says(70, "answer"));
  await nvim.input(":GeminiSend! --text tell me<CR>");
  await seen(/answer 70\b[\s\S]*Type your message/);

  model.say(...writes(nvim.path("greet.js"), "It is done."));
  await nvim.input(":GeminiSend! --text change it<CR>");
  await seen(/Apply this change\?/);
  await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
  t.equal(await nvim.lua("return vim.fn.expand('%:t')"), "greet.js", "the focus stays");
  await nvim.input(":GeminiAccept<CR>");
  await seen(/It is done\.[\s\S]*Type your message/);

  model.say(says(70, "next"));
  await nvim.input(":GeminiSend! --text and more<CR>");
  await seen(/next 70\b[\s\S]*Type your message/);
});

t.test("the CLI's terminal stays scrolled back until the user returns to the end", async (t) => {
  const { nvim, model, seen } = await start(t);
  model.say(says(70, "answer"));
  await nvim.input(":GeminiSend! --text tell me<CR>");
  await seen(/answer 70\b[\s\S]*Type your message/);
  await nvim.input("<C-w>p");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "Terminal mode");
  await nvim.input("<C-\\><C-n>");
  // The CLI may be drawing its screen again, and then the terminal has no earlier lines for a moment.
  await nvim.waitFor("vim.fn.search('answer 20', 'b') > 0", "the earlier lines");
  await nvim.input("zt<C-w>p");
  const buf = "require('gemini-bridge.terminal.terminals').last().buf";
  // Compares the text instead of the line number: the number changes when the CLI draws its screen again.
  const isAtPlace = `vim.fn.getbufline(${buf}, vim.fn.line('w0', vim.fn.bufwinid(${buf})))[1]:find('answer 20%s*$')`;
  await nvim.waitFor(isAtPlace, "the place in the terminal");
  model.say(says(70, "next"));
  await nvim.input(":GeminiSend! --text and more<CR>");
  const text = `table.concat(vim.api.nvim_buf_get_lines(${buf}, 0, -1, false), ' ')`;
  await nvim.waitFor(`${text}:find('next 70')`, "the answer");
  await seen(/answer 20\b/);
  await nvim.waitFor(isAtPlace, "the same place in the terminal");
  await nvim.input("<C-w>pG<C-w>p");
  await seen(/next 70\b[\s\S]*Type your message/);
  model.say(says(70, "last"));
  await nvim.input(":GeminiSend! --text go on<CR>");
  await seen(/last 70\b[\s\S]*Type your message/);
});
