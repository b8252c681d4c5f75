/** Tests the real Qwen Code beside the real Gemini CLI in one Neovim: reviews, turns and changes. */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import t, { type Test } from "tap";
import { z } from "zod";
import { geminiIn } from "../support/gemini.ts";
import { call, type Turn, writesFile } from "../support/model.ts";
import { type Nvim, root } from "../support/nvim.ts";
import { startWithQwen } from "../support/qwen.ts";

const ORIGINAL = "const greeting = 'Hello';\nconsole.log(greeting);\n";
const CLIS = "vim.tbl_map(function(client) return client.cli end, require('gemini-bridge').status().clients)";

/** A Lua expression that returns the buffer of the proposal, or nil. */
const PROPOSAL = `vim.iter(vim.api.nvim_list_bufs()):find(function(buf)
  return (vim.b[buf].gemini_diff or {}).role == 'proposal'
end)`;

/** Links the extension, so that Qwen Code reports each event twice: the settings contain the same hooks. */
const EXTENSION = {
  "../home/.qwen/extensions/gemini-bridge/.qwen-extension-install.json": JSON.stringify({
    source: join(root, "extension"),
    type: "link",
  }),
};

const Changes = z.preprocess(
  (list) => (Array.isArray(list) ? list : []),
  z.array(z.object({ path: z.string(), status: z.string(), hunks: z.int(), cli: z.string() })),
);

const EVENTS = `
_G.told = {}
vim.api.nvim_create_autocmd('User', {
  pattern = { 'GeminiTurnStarted', 'GeminiTurnEnded', 'GeminiWaiting' },
  callback = function(event)
    local what = event.data.prompt or (event.data.tool or {}).filePath
    local who = event.data.terminal and event.data.cli
    table.insert(_G.told, event.match:sub(#'Gemini' + 1) .. ' ' .. who .. (what and ': ' .. what or ''))
  end,
})`;

/** Waits until the given events were sent, and checks that there were no other events. */
async function tells(t: Test, nvim: Nvim, expected: string[]): Promise<void> {
  await nvim.waitFor(`#_G.told >= ${expected.length}`, expected.join(), 20_000);
  const isWorking = `vim.iter(require('gemini-bridge').status().clients):any(function(client)
    return client.activity ~= 'idle'
  end)`;
  await nvim.waitFor(`not ${isWorking}`, "the end of the turn", 20_000);
  t.same(await nvim.lua("local told = _G.told; _G.told = {}; return told"), expected);
}

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

t.test("a notebook that Qwen Code edits without asking is listed and undone", async (t) => {
  const before = '{"cells":[{"cell_type":"markdown","id":"a","metadata":{},"source":["1"]}],"metadata":{}}';
  const { nvim, model } = await startWithQwen(t, { files: { "a.ipynb": before } });
  const path = nvim.path("a.ipynb");
  await nvim.startBridge();
  await nvim.command("Gemini cli=qwen --approval-mode yolo");
  await nvim.waitFor(`#${CLIS} == 1`, "Qwen Code", 30_000);
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
