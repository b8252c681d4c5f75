/** Tests that the real Qwen Code reports an edit of a notebook. In auto mode, it would ask the user before this edit. */
import { readFileSync } from "node:fs";
import t from "tap";
import { call } from "../support/model.ts";
import { startWithQwen } from "../support/qwen.ts";

t.test("a notebook that Qwen Code edits without asking is listed and undone", async (t) => {
  const before = '{"cells":[{"cell_type":"markdown","id":"a","metadata":{},"source":["1"]}],"metadata":{}}';
  const { nvim, model } = await startWithQwen(t, { files: { "a.ipynb": before } });
  const path = nvim.path("a.ipynb");
  await nvim.startBridge();
  await nvim.command("Gemini cli=qwen --approval-mode yolo");
  await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "Qwen Code", 30_000);
  model.say(
    [call("read_file", { file_path: path })],
    [call("notebook_edit", { notebook_path: path, cell_id: "a", new_source: "2" })],
    [{ text: "All is done." }],
  );
  await nvim.command("GeminiSend! --text Change it.");
  await nvim.says(/qwen changed 1 file .*see :GeminiChanges/, 40_000);
  t.match(readFileSync(path, "utf8"), '"2"');
  await nvim.command("GeminiUndo all");
  await nvim.waitFor(() => readFileSync(path, "utf8") === before, "the notebook to be undone");
});
