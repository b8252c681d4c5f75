import { readFileSync } from "node:fs";
import t, { type Test } from "tap";
import { z } from "zod";
import { type Cli, SETTINGS } from "../support/cli.ts";
import { geminiIn, startWithGemini } from "../support/gemini.ts";
import type { Model, Turn } from "../support/model.ts";
import type { Nvim } from "../support/nvim.ts";

t.setTimeout(300_000);

const FILES = { "greet.js": "const greeting = 'Hello';\nconsole.log(greeting);\n" };

const CHANGE: Turn = [
  { functionCall: { name: "write_file", args: { file_path: "greet.js", content: "const bye = 1;\n" } } },
];

/** Starts a Neovim with greet.js and with a CLI that asks about a change. */
async function withQuestion(
  t: Test,
  files: Readonly<Record<string, string>> = {},
): Promise<{ nvim: Nvim; model: Model; cli: Cli }> {
  const { nvim, model } = await startWithGemini(t, { files: { ...FILES, ...files } });
  await nvim.command("edit greet.js");
  return { nvim, model, cli: await ask(nvim, model) };
}

/** Starts the CLI, and makes the CLI ask about a change. */
async function ask(nvim: Nvim, model: Model): Promise<Cli> {
  model.say(CHANGE);
  await nvim.input(":GeminiSend! change it<CR>");
  const cli = await geminiIn(nvim);
  await cli.waitForScreen(/Apply this change\?[\s\S]*● 1\. Allow once/, 60_000);
  return cli;
}

const Waiting = z.array(z.object({ text: z.string(), waits: z.string() }));

const outbox = async (nvim: Nvim) =>
  Waiting.parse([{ text: "", waits: "" }, ...z.array(z.unknown()).parse(await nvim.lua(OUTBOX))]).slice(1);
const OUTBOX = "return require('gemini-bridge.prompt.outbox').list()";

/** Returns the text in the CLI's prompt, without blanks. */
const prompt = async (cli: Cli) => {
  const lines = await cli.screen();
  const at = lines.findLastIndex((line) => /^ ?> /.test(line));
  return lines.slice(at).join("").replace(/\s/g, "");
};

const waitForPrompt = (nvim: Nvim, cli: Cli, start: string) =>
  nvim.waitFor(async () => (await prompt(cli)).startsWith(start), `${start} in the prompt`);

const waitForReason = (nvim: Nvim, reason: RegExp) =>
  nvim.waitFor(async () => (await outbox(nvim)).some(({ waits }) => reason.test(waits)), `${reason}`);

const isEmpty = async (nvim: Nvim) => (await outbox(nvim)).length === 0;

t.test("prompts wait while the CLI asks", async (t) => {
  const { nvim, model, cli } = await withQuestion(t);

  await t.test("prompts wait while the CLI asks, and no prompt is lost", async (t) => {
    await nvim.input(":GeminiSend! --text and then this<CR>");
    await nvim.input(":GeminiSend --text not yet sent<CR>");
    await waitForReason(nvim, /you answer the question in gemini/);
    t.match(await nvim.messages(), /The prompt waits until you answer the question in gemini/);
    t.match(
      await nvim.lua("return table.concat(require('gemini-bridge.report.status_view').lines(), '\\n')"),
      /Prompts {5}and then this: waits until you answer the question in gemini\n +not yet sent: waits until/,
    );
    t.match((await cli.screen()).join("\n"), /● 1\. Allow once/, "nothing is answered");
    t.match(readFileSync(nvim.path("greet.js"), "utf8"), /Hello/);

    model.say([{ text: "Very well." }]);
    await cli.press("\x1b");
    await cli.waitForScreen(/Very well\./, 30_000);
    t.match(model.promptText(), /and then this/);
    await waitForPrompt(nvim, cli, ">notyetsent");
    await nvim.waitFor(() => isEmpty(nvim), "the prompts to be there");
    t.notMatch(model.promptText(), /not yet sent/);
    t.match(readFileSync(nvim.path("greet.js"), "utf8"), /Hello/, "no change was allowed");
    const said = (await nvim.messages()).match(/waits until you answer the question/g);
    t.equal(said?.length, 1, "it was said once");
  });

  await t.test("waiting prompts can be cancelled", async (t) => {
    await cli.press("\x03"); // deletes the text in the prompt
    await waitForPrompt(nvim, cli, ">Typeyourmessage");
    await ask(nvim, model);
    await nvim.input(":GeminiSend! --text first<CR>");
    await nvim.input(":1GeminiSend second<CR>");
    await waitForReason(nvim, /question/);
    await nvim.input(":GeminiSend --cancel<CR>");
    await nvim.waitFor(() => isEmpty(nvim), "the prompts to be taken back");
    t.equal(await nvim.lua("return vim.fn.getreg('\"')"), "first\n@greet.js (line 1) second");
    t.match(await nvim.messages(), /Cancelled 2 prompts\. The text is in the unnamed register/);
    const requests = model.requests.length;
    await cli.press("\x1b");
    await waitForPrompt(nvim, cli, ">Typeyourmessage");
    await nvim.input(":GeminiSend --text third<CR>");
    await waitForPrompt(nvim, cli, ">third");
    t.equal(model.requests.length, requests, "nothing of it was sent");
    await nvim.waitFor(() => isEmpty(nvim), "the third to be there");
    await nvim.input(":GeminiSend --cancel<CR>");
    t.match(await nvim.messages(), /No prompts are waiting/);
  });

  await t.test("a prompt is kept if the CLI ends before it accepts input", async (t) => {
    await cli.press("\x03"); // deletes the text in the prompt
    await waitForPrompt(nvim, cli, ">Typeyourmessage");
    await ask(nvim, model);
    await nvim.input(":GeminiSend! --text precious<CR>");
    await waitForReason(nvim, /question/);
    await nvim.command(`bwipeout! ${cli.place.buf}`);
    await nvim.says(/gemini has ended/);
    await nvim.input(":GeminiPrompt!<CR>1<CR>");
    t.same(await nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"), ["precious"]);
  });
});

t.test("a question of the CLI above the prompt is recognized", async (t) => {
  const { nvim, cli } = await withQuestion(t, {
    "../home/.gemini/settings.json": JSON.stringify({
      ...SETTINGS,
      ui: { collapseDrawerDuringApproval: false },
    }),
  });
  await waitForPrompt(nvim, cli, ">Typeyourmessage");
  await nvim.input(":GeminiSend! --text later<CR>");
  await waitForReason(nvim, /question/);
  t.match((await cli.screen()).join("\n"), /● 1\. Allow once/);
  await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
  await nvim.input(":GeminiAccept<CR>");
  await cli.waitForScreen(/> later/, 20_000);
  await nvim.waitFor(() => isEmpty(nvim), "the prompt to be there");
  t.equal(readFileSync(nvim.path("greet.js"), "utf8"), "const bye = 1;\n", "only the user has accepted");
});

t.test("text that the user has typed into the CLI is never sent", async (t) => {
  const { nvim, model } = await startWithGemini(t, { files: FILES });
  await nvim.command("edit greet.js");
  await nvim.input(":Gemini<CR>");
  const cli = await geminiIn(nvim);
  await waitForPrompt(nvim, cli, ">Typeyourmessage");
  const streamed = () => model.requests.filter(({ action }) => action === "streamGenerateContent").length;

  await t.test(
    "with :GeminiSend!, a prompt waits until the user has removed the text in the CLI",
    async (t) => {
      await cli.press("my own");
      await waitForPrompt(nvim, cli, ">myown");
      await nvim.input("<C-\\><C-n><C-w>p:GeminiSend! --text ours<CR>");
      await waitForReason(nvim, /you send or delete your text in gemini/);
      t.equal(streamed(), 0);
      model.say([{ text: "Got ours." }]);
      await cli.press("\x03"); // deletes the text in the prompt
      await cli.waitForScreen(/Got ours\./, 30_000);
      t.match(model.promptText(), /ours/);
      t.notMatch(model.promptText(), /my own/);
    },
  );

  await t.test("without !, a prompt is appended to the user's text in the CLI", async () => {
    await waitForPrompt(nvim, cli, ">Typeyourmessage");
    await cli.press("see");
    await waitForPrompt(nvim, cli, ">see");
    await nvim.input(":GeminiAdd<CR>");
    await waitForPrompt(nvim, cli, ">see@greet.js");
    await nvim.waitFor(() => isEmpty(nvim), "the reference to be there");
  });

  await t.test("text that the plugin has typed before is sent together with the next prompt", async (t) => {
    await cli.press("\x03");
    await waitForPrompt(nvim, cli, ">Typeyourmessage");
    await nvim.input(":GeminiSend --text one<CR>:GeminiSend --text two<CR>");
    model.say([{ text: "All three." }]);
    await nvim.input(":GeminiSend! --text three<CR>");
    await cli.waitForScreen(/All three\./, 30_000);
    t.match(model.promptText(), /one two three/);
  });

  await t.test("no prompt is typed while the CLI is in shell mode", async (t) => {
    await waitForPrompt(nvim, cli, ">Typeyourmessage");
    await cli.press("!");
    await cli.waitForScreen(/^ ?! +Type your shell command/m);
    await nvim.input(":GeminiSend! --text touch mistaken<CR>");
    await waitForReason(nvim, /you leave the shell mode or the search of gemini with Esc/);
    model.say([{ text: "No command." }]);
    await cli.press("\x1b");
    await cli.waitForScreen(/No command\./, 30_000);
    t.match(model.promptText(), /touch mistaken/);
  });
});
