/** The real Qwen Code beside the real Gemini CLI, in terminals of one Neovim, where neither has seen an editor. */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { z } from "zod";
import { geminiIn } from "../support/gemini.ts";
import type { Turn } from "../support/model.ts";
import { startWithQwen } from "../support/qwen.ts";

const ORIGINAL = "const greeting = 'Hello';\nconsole.log(greeting);\n";
const CLIS = "vim.tbl_map(function(client) return client.cli end, require('gemini-bridge').status().clients)";

/** The buffer of the proposal, or nil. */
const PROPOSAL = `vim.iter(vim.api.nvim_list_bufs()):find(function(buf)
  return (vim.b[buf].gemini_diff or {}).role == 'proposal'
end)`;

t.test("Qwen Code and Gemini CLI in one Neovim", async (t) => {
  const { nvim, model, gemini } = await startWithQwen(t, { files: { "greet.js": ORIGINAL, "b.js": "1;\n" } });
  const path = nvim.path("greet.js");
  const onDisk = (file = path) => readFileSync(file, "utf8");
  const diffs = (count: number) =>
    nvim.waitFor(`#require('gemini-bridge').diffs() == ${count}`, `${count} reviews`, 30_000);
  /** Adds a line to the proposal, as a user would. */
  const edit = () => nvim.lua(`vim.api.nvim_buf_set_lines(${PROPOSAL}, -1, -1, true, { "// mine" })`);
  const writes = (content: string): Turn[] => [
    [{ functionCall: { name: "read_file", args: { file_path: path } } }],
    [{ functionCall: { name: "write_file", args: { file_path: path, content } } }],
    [{ text: `It is ${content.split("(", 1)[0]}.` }],
  ];

  await nvim.command("edit greet.js");
  await nvim.command("Gemini cli=gemini");
  await nvim.waitFor(`#${CLIS} == 1`, "Gemini CLI", 30_000);
  await nvim.command("Gemini cli=qwen");
  await nvim.waitFor(`#${CLIS} == 2`, "Qwen Code", 30_000);
  const cli = await geminiIn(nvim);
  const says = (sentence: string) => cli.waitForScreen(new RegExp(sentence), 20_000);

  await t.test("each is known, and named", async (t) => {
    t.same(
      z
        .array(z.string())
        .parse(await nvim.lua(`return ${CLIS}`))
        .sort(),
      ["gemini", "qwen"],
    );
    const view = "table.concat(require('gemini-bridge.report.status_view').lines(), ' ')";
    await nvim.waitFor(
      `${view}:find('Gemini CLI .* in gemini, .*Qwen Code .* in qwen, ') ~= nil`,
      "the names",
    );
  });

  await t.test("the context is in its request, an accepted edit on disk", async (t) => {
    model.say(...writes("first();\n"));
    await nvim.command("GeminiSend! Change it.");
    await diffs(1);
    t.match(model.promptText(), "greet.js");
    await edit();
    await nvim.command("GeminiAccept");
    await says("It is first");
    t.equal(onDisk(), "first();\n// mine\n");
  });

  await t.test("a rejected one is not", async (t) => {
    model.say(...writes("second();\n").slice(0, 2)); // a rejection ends the turn
    await nvim.command("GeminiSend! Again.");
    await diffs(1);
    await nvim.command("GeminiReject");
    await diffs(0);
    await cli.waitForScreen(/Type your message/, 20_000);
    t.equal(onDisk(), "first();\n// mine\n");
  });

  await t.test("edits that its own yes drops come back as a review", async (t) => {
    model.say(...writes("third();\n"));
    await nvim.command("GeminiSend! Once more.");
    await diffs(1);
    await edit();
    await cli.waitForScreen(/Apply this change\?/);
    await cli.press("\r");
    await says("It is third");
    t.equal(onDisk(), "third();\n", "Qwen Code writes what it proposed");
    await diffs(1);
    t.match(await nvim.messages(), /Qwen Code wrote greet\.js without your edits/);
    await nvim.command("GeminiAccept");
    await diffs(0);
    await nvim.waitFor(async () => onDisk() === "third();\n// mine\n", "what was typed");
  });

  await t.test("each gets its own decisions", async (t) => {
    model.say(...writes("fourth();\n"));
    const other = nvim.path("b.js");
    gemini.say(
      [{ functionCall: { name: "write_file", args: { file_path: other, content: "2;\n" } } }],
      [{ text: "Gemini is done." }],
    );
    await nvim.command("GeminiSend! And now?");
    await diffs(1);
    await nvim.command("Gemini name=gemini");
    await nvim.command("GeminiSend! You, too.");
    await diffs(2);
    await nvim.command(`GeminiAccept ${other}`);
    await nvim.waitFor(async () => onDisk(other) === "2;\n", "Gemini CLI to write");
    t.equal(onDisk(), "third();\n// mine\n");
    await nvim.command("GeminiAccept");
    await nvim.waitFor(async () => onDisk() === "fourth();\n", "Qwen Code to write");
  });

  await t.test("a lock that is deleted comes back, and goes when the bridge stops", async (t: Test) => {
    const directory = join(nvim.dirs.home, ".qwen/ide");
    const [name = ""] = readdirSync(directory).filter((each) => each.endsWith(".lock"));
    rmSync(join(directory, name));
    await nvim.waitFor(async () => existsSync(join(directory, name)), "the lock");
    await nvim.command("GeminiStop");
    await nvim.waitFor("require('gemini-bridge').status().state == 'stopped'", "the end");
    t.same(readdirSync(directory), []);
    await cli.waitForScreen(/Type your message/, 20_000);
    // The CLI tries to fetch its event stream again before it says so.
    const isDisconnected = async () => {
      await cli.press("/ide status");
      await cli.waitForScreen(/> +\/ide status\s/);
      await cli.press("\r");
      await cli.waitForScreen(/Type your message/);
      return /Disconnected/.test((await cli.screen()).join("\n"));
    };
    await t.resolves(nvim.waitFor(isDisconnected, "the CLI to notice", 60_000));
  });
});
