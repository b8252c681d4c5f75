/** Tests the real Qwen Code beside the real Gemini CLI in one Neovim: reviews, turns and changes. */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { z } from "zod";
import { geminiIn } from "../support/gemini.ts";
import { call, type Turn, writesFile } from "../support/model.ts";
import { startWithQwen } from "../support/qwen.ts";
import { Changes, CLIS, EVENTS, EXTENSION, tells } from "../support/qwen-turns.ts";

const ORIGINAL = "const greeting = 'Hello';\nconsole.log(greeting);\n";

/** A Lua expression that returns the buffer of the proposal, or nil. */
const PROPOSAL = `vim.iter(vim.api.nvim_list_bufs()):find(function(buf)
  return (vim.b[buf].gemini_diff or {}).role == 'proposal'
end)`;

t.test("Qwen Code and Gemini CLI work in one Neovim", async (t) => {
  const { nvim, model, gemini } = await startWithQwen(t, {
    files: { "greet.js": ORIGINAL, "b.js": "1;\n", ...EXTENSION },
    init: EVENTS,
    env: { QWEN_CODE_NO_RELAUNCH: "" }, // as for users, the CLI starts another process of itself
  });
  const path = nvim.path("greet.js");
  const onDisk = (file = path) => readFileSync(file, "utf8");
  const diffs = (count: number) =>
    nvim.waitFor(`#require('gemini-bridge').diffs() == ${count}`, `${count} reviews`, 30_000);
  const changed = async () => Changes.parse(await nvim.lua("return require('gemini-bridge').changes()"));
  /** Adds a line to the proposal, as a user would. */
  const edit = () => nvim.lua(`vim.api.nvim_buf_set_lines(${PROPOSAL}, -1, -1, true, { "// mine" })`);
  const writes = (content: string): Turn[] => [
    [call("read_file", { file_path: path })],
    ...writesFile(path, content, `It is ${content.split("(", 1)[0]}.`),
  ];

  await nvim.command("edit greet.js");
  await nvim.command("Gemini cli=gemini");
  await nvim.waitFor(`#${CLIS} == 1`, "Gemini CLI", 30_000);
  await nvim.command("Gemini cli=qwen");
  await nvim.waitFor(`#${CLIS} == 2`, "Qwen Code", 30_000);
  const cli = await geminiIn(nvim);
  const says = (sentence: string) => cli.waitForScreen(new RegExp(sentence), 20_000);

  await t.test("Qwen Code and Gemini CLI are recognized and named", async (t) => {
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

  await t.test("the context is in Qwen Code's request, and an accepted edit is written", async (t) => {
    model.say(...writes("first();\n"));
    await nvim.command("GeminiSend! Change it.");
    await diffs(1);
    t.match(model.promptText(), "greet.js");
    await edit();
    await nvim.command("GeminiAccept");
    await says("It is first");
    t.equal(onDisk(), "first();\n// mine\n");
    await tells(t, nvim, ["TurnStarted qwen: Change it.", `Waiting qwen: ${path}`, "TurnEnded qwen"]);
    t.same(await changed(), [], "an accepted edit is not a change");
  });

  await t.test("a rejected edit of Qwen Code is not written", async (t) => {
    model.say(...writes("second();\n").slice(0, 2)); // a rejection ends the turn
    await nvim.command("GeminiSend! Again.");
    await diffs(1);
    await nvim.command("GeminiReject");
    await diffs(0);
    await cli.waitForScreen(/Type your message/, 20_000);
    t.equal(onDisk(), "first();\n// mine\n");
    await tells(t, nvim, ["TurnStarted qwen: Again.", `Waiting qwen: ${path}`, "TurnEnded qwen"]);
  });

  await t.test("edits in a proposal that Qwen Code does not write open a new review", async (t) => {
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
    t.same(await changed(), []);
  });

  await t.test(
    "two edits that Qwen Code proposes at once are one turn, whatever the user decides",
    async (t) => {
      const [first, second] = [nvim.path("first.js"), nvim.path("second.js")];
      const write = (file: string) => call("write_file", { file_path: file, content: "new\n" });
      const isWaiting = `vim.iter(require('gemini-bridge').status().clients):any(function(client)
      return client.cli == 'qwen' and client.activity == 'waiting'
    end)`;
      model.say([write(first), write(second)], [{ text: "It is written." }]);
      await nvim.lua("_G.told = {}");
      await nvim.command("GeminiSend! Two files.");
      await nvim.waitFor("#_G.told == 3", "both questions", 30_000);
      await diffs(1);
      await nvim.command(`GeminiReject ${first}`);
      await nvim.waitFor(
        `vim.iter(require('gemini-bridge').diffs()):any(function(diff)
      return diff.filePath == ${JSON.stringify(second)}
    end)`,
        "the second review",
      );
      await nvim.waitFor(isWaiting, "the activity");
      await nvim.command(`GeminiAccept ${second}`);
      await says("It is written");
      t.notOk(existsSync(first));
      t.equal(onDisk(second), "new\n");
      await tells(t, nvim, [
        "TurnStarted qwen: Two files.",
        `Waiting qwen: ${first}`,
        `Waiting qwen: ${second}`,
        "TurnEnded qwen",
      ]);
      t.same(await changed(), [], "an accepted edit is not a change");
    },
  );

  await t.test("Qwen Code and Gemini CLI get only the decisions on their own proposals", async (t) => {
    model.say(...writes("fourth();\n"));
    const other = nvim.path("b.js");
    gemini.say(...writesFile(other, "2;\n", "Gemini is done."));
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
    t.same(await changed(), []);
  });

  await t.test(
    "a deleted lock file of Qwen Code is restored, and is removed when the bridge stops",
    async (t: Test) => {
      const directory = join(nvim.dirs.home, ".qwen/ide");
      const [name = ""] = readdirSync(directory).filter((each) => each.endsWith(".lock"));
      rmSync(join(directory, name));
      await nvim.waitFor(async () => existsSync(join(directory, name)), "the lock");
      await nvim.stopBridge();
      t.same(readdirSync(directory), []);
      await cli.waitForScreen(/Type your message/, 20_000);
      // The CLI first tries to reconnect the event stream.
      const isDisconnected = async () => {
        await cli.press("/ide status");
        await cli.waitForScreen(/> +\/ide status\s/);
        await cli.press("\r");
        await cli.waitForScreen(/Type your message/);
        return /Disconnected/.test((await cli.screen()).join("\n"));
      };
      await t.resolves(nvim.waitFor(isDisconnected, "the CLI to notice", 60_000));
    },
  );
});
