/** Tests that changes of the real Qwen Code in auto mode are found, and undone byte for byte. */
import { readFileSync } from "node:fs";
import t from "tap";
import { checkUndoOfTurns, TURN_FILES } from "../support/agent-turn.ts";
import { geminiIn } from "../support/gemini.ts";
import { call } from "../support/model.ts";
import { startWithQwen } from "../support/qwen.ts";
import { CLIS, EVENTS, EXTENSION, tells } from "../support/qwen-turns.ts";

const NOTEBOOK = '{"cells":[{"cell_type":"markdown","id":"a","metadata":{},"source":["1"]}],"metadata":{}}';

t.test("changes of Qwen Code in auto mode are listed", async (t) => {
  const { nvim, model } = await startWithQwen(t, {
    files: { ...TURN_FILES, ...EXTENSION, "notes.md": "# Notes\n", "a.ipynb": NOTEBOOK },
    args: ["crlf.txt", "notes.md"],
    init: EVENTS,
  });
  const read = (name: string) => readFileSync(nvim.path(name), "utf8");
  await nvim.command("set hidden | argument 2");
  await nvim.input("Gounsaved<Esc>");
  await nvim.command("argument 1");
  await nvim.startBridge();
  await nvim.command("GeminiGate on");
  await nvim.command("Gemini cli=qwen name=auto --approval-mode auto");
  await nvim.waitFor(`#${CLIS} == 1`, "Qwen Code", 30_000);
  const cli = await geminiIn(nvim);

  await t.test("a tool of Neovim answers Qwen Code with unsaved text", async (t) => {
    model.say([call("mcp__neovim__read_buffer", { path: "notes.md" })], [{ text: "I have read it." }]);
    await nvim.command("GeminiSend! --text Read it.");
    // In this mode, no model judges tools, so the CLI asks the user about this tool.
    await cli.waitForScreen(/Allow execution of MCP tool/, 30_000);
    await cli.press("\r");
    await cli.waitForScreen(/I have read it\./, 30_000);
    t.match(model.promptText(), "notes.md has unsaved changes; lines 1 to 2 of 2");
    t.match(model.promptText(), /# Notes\\+nunsaved/, "the embedded resource");
    await tells(t, nvim, ["TurnStarted qwen: Read it.", "Waiting qwen", "TurnEnded qwen"]);
    await nvim.command("silent bwipeout! notes.md");
  });

  await checkUndoOfTurns(t, {
    nvim,
    cli,
    name: "qwen",
    say: model.say,
    edit: { tool: "edit", args: {} },
    shell: { is_background: false },
    question: /Allow execution of/,
  });

  await t.test("each turn of Qwen Code is reported once, and so are undone changes", async (t) => {
    await nvim.says(/auto changed 12 files .*see :GeminiChanges/);
    const events = ["TurnStarted qwen: Change the files.", "Waiting qwen", "TurnEnded qwen"];
    await tells(t, nvim, [...events, ...events, ...events, ...events]);
    model.say([{ text: "I know." }]);
    await nvim.command("GeminiSend! --text Go on.");
    await cli.waitForScreen(/I know\./, 20_000);
    t.match(model.promptText(), /The user undid your changes in .*crlf\.txt.* \(3 hunks\).*; do not redo/);
    await tells(t, nvim, ["TurnStarted qwen: Go on.", "TurnEnded qwen"]);
  });

  /** Types a text into the CLI's prompt and sends the text. */
  const type = async (text: string) => {
    await nvim.lua("vim.fn.chansend(...)", cli.place.job, text);
    await cli.waitForScreen(new RegExp(`[>*] +${text}`));
    await cli.press("\x1b[F\r");
  };

  await t.test("an edit of a notebook that the CLI does not ask about is listed and undone", async (t) => {
    const path = nvim.path("a.ipynb");
    await type("/approval-mode yolo");
    await cli.waitForScreen(/YOLO mode/i, 30_000);
    model.say(
      [call("read_file", { file_path: path })],
      [call("notebook_edit", { notebook_path: path, cell_id: "a", new_source: "2" })],
      [{ text: "The notebook is done." }],
    );
    await nvim.command("GeminiSend! --text Change the notebook.");
    await cli.waitForScreen(/The notebook is done\./, 30_000);
    t.match(read("a.ipynb"), '"2"');
    await nvim.waitFor("#require('gemini-bridge').changes() == 1", "the change");
    await nvim.command("GeminiUndo all");
    await nvim.waitFor(() => read("a.ipynb") === NOTEBOOK, "the notebook to be undone");
  });

  await t.test("without a host, Qwen Code shows no error", async (t) => {
    await nvim.stopBridge();
    const path = nvim.path("bom.txt");
    model.say(
      [call("read_file", { file_path: path })],
      [call("write_file", { file_path: path, content: "gone\n" })],
      [{ text: "Nobody saw it." }],
    );
    await type("Once more.");
    await cli.waitForScreen(/Nobody saw it\./, 20_000);
    t.match(read("bom.txt"), /gone/);
    const shown = await nvim.lua(
      "return table.concat(vim.api.nvim_buf_get_lines(..., 0, -1, false), '\\n')",
      cli.place.buf,
    );
    t.notMatch(shown, /hook|ECONN|failed/i);
  });
});
