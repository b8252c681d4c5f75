/** Tests the real Claude Code beside the real Gemini CLI: names, ends, `-p`, undo. CLAUDE_CODE names the program. */
import { readFileSync } from "node:fs";
import t, { type Test } from "tap";
import { z } from "zod";
import { startWithClaude } from "../support/claude.ts";
import { PROPOSAL } from "../support/claude-bridge.ts";
import { SETTINGS } from "../support/cli.ts";
import { geminiEnv, geminiIn } from "../support/gemini.ts";
import { call, startModel, type Turn, writesFile } from "../support/model.ts";

const CLIS = "vim.tbl_map(function(client) return client.cli end, require('gemini-bridge').status().clients)";

t.test("Claude Code and Gemini CLI work in one Neovim", async (t: Test) => {
  const gemini = await startModel(t);
  const { nvim, model } = await startWithClaude(t, {
    files: {
      "a.txt": "one\ntwo\nthree\n",
      "b.txt": "b\n",
      "../home/.gemini/settings.json": JSON.stringify(SETTINGS),
    },
    env: geminiEnv(gemini),
  });
  const path = nvim.path("a.txt");
  const onDisk = (file = path) => readFileSync(file, "utf8");
  const diffs = (count: number) =>
    nvim.waitFor(`#require('gemini-bridge').diffs() == ${count}`, `${count} reviews`, 30_000);
  const activity = (expected: string) =>
    nvim.waitFor(
      `vim.iter(require('gemini-bridge').status().clients):any(function(client)
        return client.cli == 'claude' and client.activity == '${expected}'
      end)`,
      `Claude Code to be ${expected}`,
    );
  const edits = (old_string: string, new_string: string): Turn[] => [
    [call("Read", { file_path: path })],
    [call("Edit", { file_path: path, old_string, new_string })],
  ];

  await nvim.command("edit a.txt");
  await nvim.command("Gemini cli=gemini");
  await nvim.waitFor(`#${CLIS} == 1`, "Gemini CLI", 30_000);
  await nvim.command("Gemini cli=claude");
  await nvim.waitFor(`#${CLIS} == 2`, "Claude Code", 30_000);
  await activity("idle");
  const cli = await geminiIn(nvim);
  await cli.waitForScreen(/In a.txt/, 20_000);

  await t.test("the status and the list of clients name both CLIs", async (t) => {
    t.same(z.array(z.string()).parse(await nvim.lua(`return ${CLIS}`)), ["gemini", "claude"]);
    t.comment(
      await nvim.lua("return table.concat(require('gemini-bridge.report.status_view').lines(), '\\n')"),
    );
    const view = "table.concat(require('gemini-bridge.report.status_view').lines(), ' ')";
    await nvim.waitFor(
      `${view}:find('Gemini CLI .* in gemini, .*Claude Code .* in claude, ') ~= nil`,
      "the names",
    );
  });

  await t.test("each CLI gets only the decisions on its own proposals", async (t) => {
    model.say(...edits("two", "zwei"), [{ text: "It is zwei." }]);
    await nvim.command("GeminiSend! --text Change it.");
    await diffs(1);
    const other = nvim.path("b.txt");
    gemini.say(...writesFile(other, "B\n", "Gemini is done."));
    await nvim.command("Gemini name=gemini");
    await nvim.command("GeminiSend! --text You, too.");
    await diffs(2);
    await nvim.command(`GeminiAccept ${other}`);
    await nvim.waitFor(async () => onDisk(other) === "B\n", "Gemini CLI to write");
    t.equal(onDisk(), "one\ntwo\nthree\n");
    await nvim.command(`GeminiAccept ${path}`);
    await nvim.waitFor(async () => onDisk() === "one\nzwei\nthree\n", "Claude Code to write");
    await activity("idle");
  });

  await t.test("Esc in Claude Code's terminal ends the review and the turn", async (t) => {
    await nvim.command("Gemini name=claude");
    model.say(...edits("three", "drei"));
    await nvim.command("GeminiSend! --text Again.");
    await diffs(1);
    await cli.waitForScreen(/Do you want to make this edit/, 20_000);
    // The CLI ignores the first keys. Two keys in quick succession would be another command.
    let pressedAt = Date.now();
    await nvim.waitFor(
      async () => {
        if (Date.now() - pressedAt > 1_500) {
          pressedAt = Date.now();
          await cli.press("\x1b");
        }
        return (await nvim.lua("return #require('gemini-bridge').diffs()")) === 0;
      },
      "the end of the review",
      10_000,
    );
    t.equal(onDisk(), "one\nzwei\nthree\n");
    await activity("idle");
  });

  await t.test("Claude Code with -p asks nothing, and its changes can be kept and undone", async (t) => {
    await nvim.command("GeminiGate on");
    const content = "by -p\n";
    model.say(
      [call("Read", { file_path: path })],
      [call("Write", { file_path: path, content })],
      [{ text: "It is written." }],
    );
    await nvim.command("Gemini! cli=claude name=printer --permission-mode acceptEdits -p Write.");
    await nvim.waitFor(async () => onDisk() === content, "the file", 30_000);
    await nvim.waitFor("#require('gemini-bridge').changes() == 1", "the change");
    t.equal(await nvim.lua("return require('gemini-bridge').changes()[1].cli"), "claude");
    await diffs(0);
    await nvim.waitFor("require('gemini-bridge.terminal.terminals').get('printer') == nil", "its end");
    await nvim.waitFor(`#${CLIS} == 2`, "the others");
    await nvim.command("GeminiUndo! all");
    await nvim.waitFor("#require('gemini-bridge').changes() == 0", "no changes");
    t.equal(onDisk(), "one\nzwei\nthree\n");
    await nvim.command("GeminiGate off");
  });

  await t.test("the history names Claude Code", async (t) => {
    await nvim.command("GeminiHistory");
    const tree =
      "return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('^gemini-page://history$'), 0, -1, true), '\\n')";
    await nvim.waitFor(async () => /a\.txt/.test(String(await nvim.lua(tree).catch(() => ""))), "the page");
    t.match(await nvim.lua(tree), /claude: Change it\./);
    await nvim.command("tabclose");
  });

  await t.test(
    "when Claude Code is killed, its review ends, the user's edits are kept, and Gemini CLI stays connected",
    async (t) => {
      await nvim.command("Gemini name=claude");
      model.say(...edits("three", "drei"));
      await nvim.command("GeminiSend! --text Once more.");
      await cli.waitForScreen(/Do you want to make this edit/, 10_000);
      await diffs(1);
      await nvim.lua(`vim.api.nvim_buf_set_lines(${PROPOSAL}, -1, -1, true, { 'mine' })`);
      process.kill(
        Number(await nvim.lua("return require('gemini-bridge.terminal.terminals').last().pid")),
        "SIGKILL",
      );
      await diffs(0);
      t.match(await nvim.messages(), /Open your edits with/);
      await nvim.waitFor(`#${CLIS} == 1 and ${CLIS}[1] == 'gemini'`, "its end");
      t.equal(onDisk(), "one\nzwei\nthree\n");
    },
  );
});
