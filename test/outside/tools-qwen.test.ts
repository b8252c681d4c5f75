/** The real Qwen Code asks Neovim, in a home in which nothing was installed. */
import t from "tap";
import { geminiIn } from "../support/gemini.ts";
import { startWithQwen } from "../support/qwen.ts";

t.test("Qwen Code in Neovim's terminal calls a tool", async (t) => {
  const { nvim, model } = await startWithQwen(t, { files: { "notes.md": "# Notes\n" }, args: ["notes.md"] });
  await nvim.input("Gounsaved<Esc>");
  await nvim.command("Gemini cli=qwen --approval-mode yolo");
  await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "Qwen Code", 30_000);
  const cli = await geminiIn(nvim);
  model.say(
    [{ functionCall: { name: "mcp__neovim__read_buffer", args: { path: "notes.md" } } }],
    [{ text: "I have read it." }],
  );
  await nvim.command("GeminiSend! --text Read it.");
  await cli.waitForScreen(/I have read it\./, 30_000);
  t.match(model.promptText(), "notes.md has unsaved changes; lines 1 to 2 of 2");
  t.match(model.promptText(), /# Notes\\+nunsaved/, "the embedded resource");
});
