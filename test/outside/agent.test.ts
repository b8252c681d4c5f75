/** Tests the turns and the gate of the real CLI in modes in which the CLI does not ask. */
import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import t from "tap";
import { z } from "zod";
import type { Cli } from "../support/cli.ts";
import { linkExtension } from "../support/extension.ts";
import { geminiIn, startWithGemini } from "../support/gemini.ts";
import { call } from "../support/model.ts";
import type { Nvim } from "../support/nvim.ts";

const FILES = { "a.txt": "one\n", "c.txt": "one\n", "crlf.txt": "one\r\ntwo\r\n" };

const Paths = z.preprocess(
  (list) => (Array.isArray(list) ? list : []),
  z.array(z.object({ filePath: z.string() })),
);
const Turns = z.array(z.object({ prompt: z.string(), entries: z.array(z.object({ kind: z.string() })) }));

const EVENTS = `
_G.told = {}
vim.api.nvim_create_autocmd('User', {
  pattern = { 'GeminiTurnStarted', 'GeminiTurnEnded', 'GeminiWaiting' },
  callback = function(event)
    local prompt = event.data.prompt
    table.insert(_G.told, event.match:sub(#'Gemini' + 1) .. (prompt and ': ' .. prompt or ''))
  end,
})`;

const isDoing = (nvim: Nvim, activity: string) =>
  nvim.waitFor(
    `vim.tbl_get(require('gemini-bridge').status(), 'clients', 1, 'activity') == '${activity}'`,
    activity,
  );
const reviews = (nvim: Nvim) => nvim.lua("return #require('gemini-bridge').diffs()");
const hasReview = (nvim: Nvim) => nvim.waitFor(async () => (await reviews(nvim)) === 1, "the review");

/** Returns the events since the last call. */
async function told(nvim: Nvim, count: number): Promise<string[]> {
  const all = "_G.told";
  await nvim.waitFor(`#${all} >= ${count}`, `${count} events`);
  return z.array(z.string()).parse(await nvim.lua(`local told = ${all}; ${all} = {}; return told`));
}

const write = (nvim: Nvim, content: string) => [
  call("write_file", { file_path: nvim.path("a.txt"), content }),
];
const shown = (nvim: Nvim, cli: Cli) =>
  nvim.lua("return table.concat(vim.api.nvim_buf_get_lines(..., 0, -1, false), '\\n')", cli.place.buf);

t.test("hooks report the turns of the real CLI in YOLO mode", async (t) => {
  const init = `${EVENTS} require('gemini-bridge.host.boot').limits.reconnect_ms = 100`;
  const { nvim, model } = await startWithGemini(t, { files: FILES, init });
  linkExtension(nvim.dirs.home);
  await nvim.command("Gemini --yolo");
  const cli = await geminiIn(nvim);
  await cli.waitForScreen(/Type your message/, 30_000);
  await isDoing(nvim, "idle");
  const terminal = "require('gemini-bridge.bridge.status').get().clients[1].terminal";
  await nvim.waitFor(`${terminal} == 'gemini'`, "the terminal to be known");
  const onDisk = () => readFileSync(nvim.path("a.txt"), "utf8");

  await t.test("with the gate on, an edit opens a review", async (t) => {
    await nvim.command("GeminiGate on");
    model.say(write(nvim, "two\n"), [{ text: "It is two." }]);
    await cli.type("Write two.");
    await hasReview(nvim);
    await isDoing(nvim, "waiting");
    t.equal(onDisk(), "one\n");
    await nvim.command("GeminiAccept");
    await cli.waitForScreen(/It is two\./);
    t.equal(onDisk(), "two\n");
    await isDoing(nvim, "idle");
    t.same(await told(nvim, 3), ["TurnStarted: Write two.", "Waiting", "TurnEnded"], "each once");
  });

  await t.test("a rejection ends the turn of the real CLI", async (t) => {
    model.say(write(nvim, "three\n"));
    await cli.type("Write three.");
    await hasReview(nvim);
    await isDoing(nvim, "waiting");
    await nvim.command("GeminiReject");
    await cli.waitForScreen(/Request cancelled/);
    await isDoing(nvim, "idle");
    t.equal(onDisk(), "two\n");
    t.same(await told(nvim, 3), ["TurnStarted: Write three.", "Waiting", "TurnEnded"]);
  });

  await t.test("Esc ends the turn while the CLI asks", async (t) => {
    model.say(write(nvim, "three\n"));
    await cli.type("Write three again.");
    await hasReview(nvim);
    await isDoing(nvim, "waiting");
    await cli.press("\x1b");
    await isDoing(nvim, "idle");
    t.same(await told(nvim, 3), ["TurnStarted: Write three again.", "Waiting", "TurnEnded"]);
    await nvim.waitFor("vim.fn.exists('#gemini-bridge.changes') == 0", "the end of the edit");
  });

  const runs = async (prompt: string) => {
    model.say([call("run_shell_command", { command: "echo theirs > made.txt; sleep 60" })]);
    await cli.type(prompt);
    await nvim.waitFor(() => existsSync(nvim.path("made.txt")), "the tool to run");
    await cli.press("\x1b");
    const events = await told(nvim, 2);
    await nvim.waitFor("#require('gemini-bridge').changes() == 1", "the change, without another prompt");
    await nvim.command("GeminiUndo! all");
    await nvim.waitFor("#require('gemini-bridge').changes() == 0", "the undo");
    return events;
  };

  await t.test("Esc ends the turn while a tool runs", async (t) => {
    t.same(await runs("Wait a minute."), ["TurnStarted: Wait a minute.", "TurnEnded"]);
    await isDoing(nvim, "idle");
    t.notOk(existsSync(nvim.path("made.txt")));
  });

  await t.test("Esc ends the turn of a CLI that is not connected", async (t) => {
    await cli.slash("/ide disable");
    await nvim.waitFor("#require('gemini-bridge').status().clients == 0", "the CLI to disconnect");
    t.same(await runs("Wait alone."), ["TurnStarted: Wait alone.", "TurnEnded"]);
    await cli.slash("/ide enable");
    await isDoing(nvim, "idle");
  });

  await t.test("with the gate on, each edit of an answer opens its own review", async (t) => {
    const read = (name: string) => readFileSync(nvim.path(name), "utf8");
    const use = (name: string, file: string, args: object) =>
      call(name, { file_path: nvim.path(file), ...args });
    const replace = (file: string, old_string: string, new_string: string) =>
      use("replace", file, { instruction: "Do it.", old_string, new_string });
    model.say(
      [
        replace("crlf.txt", "one", "1"),
        use("write_file", "c.txt", { content: "1\n" }),
        replace("crlf.txt", "two", "2"),
      ],
      [{ text: "All is done." }],
    );
    await cli.type("Digits.");
    const diffs = async () => Paths.parse(await nvim.lua("return require('gemini-bridge').diffs()"));
    const reviewed: string[] = [];
    for (let i = 0; i < 3; i += 1) {
      await nvim.waitFor(async () => (await diffs()).length === 1, `review ${i + 1}`);
      reviewed.push(...(await diffs()).map(({ filePath }) => basename(filePath)));
      await nvim.command("GeminiAccept");
      await nvim.waitFor(async () => (await diffs()).length === 0, "it to be decided");
    }
    await cli.waitForScreen(/All is done\./, 20_000);
    t.same(reviewed.sort(), ["c.txt", "crlf.txt", "crlf.txt"]);
    t.equal(read("crlf.txt"), "1\r\n2\r\n");
    t.equal(read("c.txt"), "1\n");
    t.same(await nvim.lua("return require('gemini-bridge').changes()"), [], "what is reviewed is no change");
    await isDoing(nvim, "idle");
    await nvim.lua("_G.told = {}");
    const [turn] = Turns.parse(await nvim.lua("return require('gemini-bridge').history()"));
    t.match(turn, {
      prompt: "Digits.",
      entries: [{ kind: "accepted" }, { kind: "accepted" }, { kind: "accepted" }],
    });

    await nvim.command("GeminiHistory");
    const isShown = async () =>
      /crlf\.txt/.test(String(await nvim.lua("return vim.fn.bufname(vim.fn.winbufnr(vim.fn.winnr('$')))")));
    await nvim.waitFor("vim.bo.filetype == 'gemini_history'", "the page");
    await nvim.input("4G"); // the line below the turn, the new file and the first change
    await nvim.waitFor(isShown, "the last change of the file");
    await nvim.command("GeminiUndo");
    await nvim.waitFor(() => read("crlf.txt") !== "1\r\n2\r\n", "it to be taken back");
    t.equal(read("crlf.txt"), "1\r\ntwo\r\n", "the last of the two");
    await nvim.input("q");
  });

  await t.test("with the gate on, a shell command does not open a review", async (t) => {
    model.say([call("run_shell_command", { command: "echo done > b.txt" })], [{ text: "It is run." }]);
    await cli.type("Run it.");
    await cli.waitForScreen(/It is run\./);
    t.equal(readFileSync(nvim.path("b.txt"), "utf8"), "done\n");
    t.same(await told(nvim, 2), ["TurnStarted: Run it.", "TurnEnded"]);
  });

  await t.test("with `/hooks disable-all`, the gate does not claim that the CLI asks", async (t) => {
    const line = () => nvim.lua("return require('gemini-bridge').statusline()");
    t.match(await line(), /gate on/);
    await cli.slash("/hooks disable-all");
    await nvim.says(
      /Gemini CLI does not ask .*hooksConfig\.disabled contains "neovim" in .*\.gemini\/settings\.json/s,
    );
    t.notMatch(await line(), /gate on/);
    model.say(write(nvim, "unasked\n"), [{ text: "It is unasked." }]);
    await cli.type("Write unasked.");
    await cli.waitForScreen(/It is unasked\./);
    t.equal(onDisk(), "unasked\n");
    t.equal((await nvim.messages()).split("does not ask before edits").length, 2, "told once");
    await cli.slash("/hooks enable-all");
    await nvim.waitFor(async () => /gate on/.test(String(await line())), "the gate");
    await cli.slash("/clear"); // later cases look for messages about hooks
  });

  await t.test("without the gate, the CLI edits files without asking", async (t) => {
    await nvim.command("GeminiGate off");
    const read = call("read_file", { file_path: nvim.path("a.txt") });
    model.say([read], [read], write(nvim, "four\n"), [{ text: "And" }, read], [{ text: "It is four." }]);
    await cli.type("Write four.");
    await cli.waitForScreen(/It is four\./);
    t.equal(onDisk(), "four\n");
    t.same(await told(nvim, 2), ["TurnStarted: Write four.", "TurnEnded"], "once for all steps");
  });

  await t.test("a file of the build opens a review, although the gate is off", async (t) => {
    model.say(
      [call("write_file", { file_path: nvim.path("package.json"), content: "{}\n" })],
      [{ text: "It is built." }],
    );
    await cli.type("Build.");
    await hasReview(nvim);
    await isDoing(nvim, "waiting");
    await nvim.command("GeminiAccept");
    await cli.waitForScreen(/It is built\./);
    t.equal(readFileSync(nvim.path("package.json"), "utf8"), "{}\n");
    t.same(await told(nvim, 3), ["TurnStarted: Build.", "Waiting", "TurnEnded"]);
    await cli.slash("/clear"); // a later case looks for warnings
  });

  await t.test("without the bridge, the CLI shows no error", async (t) => {
    await nvim.stopBridge();
    model.say(write(nvim, "five\n"), [{ text: "It is five." }]);
    await cli.type("Write five.");
    await cli.waitForScreen(/It is five\./);
    t.equal(onDisk(), "five\n");
    t.notMatch(await shown(nvim, cli), /Hook\(s\)|failed|F12|warning/i);
  });
});
