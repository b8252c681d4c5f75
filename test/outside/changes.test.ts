/** Tests that changes of the real Gemini CLI in YOLO mode are found, and undone byte for byte. */
import t from "tap";
import { checkUndoOfTurns, TURN_FILES } from "../support/agent-turn.ts";
import { linkExtension } from "../support/extension.ts";
import { geminiIn, startWithGemini } from "../support/gemini.ts";

t.test("turns of Gemini CLI with many files are listed and undone", async (t) => {
  const { nvim, model } = await startWithGemini(t, { files: TURN_FILES, args: ["crlf.txt"] });
  linkExtension(nvim.dirs.home);
  await nvim.command("Gemini --yolo");
  await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "the CLI", 30_000);
  const cli = await geminiIn(nvim);
  const edit = { tool: "replace", args: { instruction: "Do it." } };
  await checkUndoOfTurns(t, { nvim, cli, name: "gemini", say: model.say, edit, shell: {} });

  await t.test("the agent is told once which of its changes were undone", async (t) => {
    const told = () => model.promptText().match(/The user undid your changes in [^;]*; do not redo/g) ?? [];
    for (const answer of ["I know", "And still"]) {
      model.say([{ text: `${answer}.` }]);
      await nvim.command("GeminiSend! --text Go on.");
      await cli.waitForScreen(new RegExp(`${answer}\\.`), 20_000);
    }
    t.match(told().at(-1), /"crlf\.txt" \(3 hunks\)/);
    const view = "table.concat(require('gemini-bridge.report.status_view').lines(), ' ')";
    t.match(await nvim.lua(`return ${view}`), /Told agent +gemini, .*: The user undid your changes in/);
  });
});
