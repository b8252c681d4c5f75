/** Tests the changes that the real Qwen Code makes in auto mode. */
import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import t from "tap";
import { geminiIn } from "../support/gemini.ts";
import { call, type Turn } from "../support/model.ts";
import { startWithQwen } from "../support/qwen.ts";
import { Changes, CLIS, EVENTS, EXTENSION, tells } from "../support/qwen-turns.ts";

const FILES = {
  "notes.md": "# Notes\n",
  "crlf.txt": Buffer.from("one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix\r\n"),
  "bom.txt": Buffer.from("\uFEFFone\ntwo"),
  "long.txt": Buffer.from(`first\n${"a line of some length\n".repeat(95_000)}last\n`),
  "gone.txt": Buffer.from("going\n"),
};

t.test("changes of Qwen Code in auto mode are listed", async (t) => {
  const { nvim, model } = await startWithQwen(t, {
    files: { ...FILES, ...EXTENSION },
    args: ["crlf.txt", "gone.txt", "notes.md"],
    init: EVENTS,
  });
  const read = (name: string) => readFileSync(nvim.path(name));
  const use = (name: string, file: string, args: object = {}): Turn => [
    call(name, { file_path: nvim.path(file), ...args }),
  ];
  const edit = (file: string, old_string: string, new_string: string) =>
    use("edit", file, { old_string, new_string });
  const changes = async () =>
    Changes.parse(await nvim.lua("return require('gemini-bridge').changes()")).map(
      ({ path, status, hunks, cli }) => `${cli} ${basename(path)} ${status} ${hunks}`,
    );
  await nvim.command("argument 3");
  await nvim.input("Gounsaved<Esc>");
  await nvim.command("set hidden | argument 2 | argument 1");
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
  });

  await t.test("changes of Qwen Code are found by its hooks, and undone byte for byte", async (t) => {
    model.say(
      use("read_file", "crlf.txt"),
      edit("crlf.txt", "two", "zwei"),
      edit("crlf.txt", "five", "fünf"),
      use("read_file", "bom.txt"),
      use("write_file", "bom.txt", { content: "one\ntwo\nthree\n" }),
      use("read_file", "long.txt"),
      edit("long.txt", "last\n", "the last\n"),
      use("write_file", "new.txt", { content: "new\n" }),
      [call("run_shell_command", { command: "rm gone.txt", is_background: false })],
      [{ text: "All is done." }],
    );
    await nvim.command("GeminiSend! Change everything.");
    // The CLI asks only about the command.
    await cli.waitForScreen(/Allow execution of: 'rm'/, 40_000);
    await cli.press("\r");
    await cli.waitForScreen(/All is done\./, 20_000);
    await nvim.waitFor(async () => (await changes()).length === 5, "five changes").catch(() => {});
    t.same(await changes(), [
      "qwen crlf.txt modified 2",
      "qwen bom.txt modified 1",
      "qwen long.txt modified 1",
      "qwen new.txt added 1",
      "qwen gone.txt deleted 1",
    ]);
    await nvim.says(/auto changed 5 files .*see :GeminiChanges/);
    await tells(t, nvim, ["TurnStarted qwen: Change everything.", "Waiting qwen", "TurnEnded qwen"]);
    await nvim.lua(`vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('crlf.txt'))[1])`);
    await nvim.command("5GeminiUndo");
    await nvim.waitFor(() => read("crlf.txt").includes("five"), "the hunk to be undone");
    t.equal(String(read("crlf.txt")), "one\r\nzwei\r\nthree\r\nfour\r\nfive\r\nsix\r\n");
    await nvim.command(`GeminiUndo ${nvim.path("new.txt")}`);
    await nvim.waitFor(() => !existsSync(nvim.path("new.txt")), "the new file to go");
    await nvim.command("GeminiUndo all");
    await nvim.waitFor(async () => (await changes()).length === 0, "all to be undone");
    for (const [name, bytes] of Object.entries(FILES)) t.ok(read(name).equals(Buffer.from(bytes)), name);

    model.say([{ text: "I know." }]);
    await nvim.command("GeminiSend! --text Go on.");
    await cli.waitForScreen(/I know\./, 20_000);
    t.match(model.promptText(), /The user undid your changes in .*crlf\.txt.* \(2 hunks\).*; do not redo/);
    await tells(t, nvim, ["TurnStarted qwen: Go on.", "TurnEnded qwen"]);
  });

  await t.test("without a host, Qwen Code shows no error", async (t) => {
    await nvim.stopBridge();
    model.say(use("read_file", "bom.txt"), use("write_file", "bom.txt", { content: "gone\n" }), [
      { text: "Nobody saw it." },
    ]);
    await nvim.lua("vim.fn.chansend(..., 'Once more.')", cli.place.job);
    await cli.waitForScreen(/Once more\./);
    await cli.press("\x1b[F\r");
    await cli.waitForScreen(/Nobody saw it\./, 20_000);
    t.match(String(read("bom.txt")), /gone/);
    const shown = await nvim.lua(
      "return table.concat(vim.api.nvim_buf_get_lines(..., 0, -1, false), '\\n')",
      cli.place.buf,
    );
    t.notMatch(shown, /hook|ECONN|failed/i);
  });
});
