/** Tests Claude Code's hooks and its start by `:Gemini`, with a scripted client: turns, changes, gate, arguments. */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { z } from "zod";
import type { RunningBridge } from "../support/bridge.ts";
import { startClaudeBridge } from "../support/claude-bridge.ts";
import { lockOf, SocketClient } from "../support/socket-client.ts";
import { waitFor } from "../support/wait.ts";

/**
 * Sends a hook event, as the script of `:Gemini cli=claude` does.
 * @returns the answer
 */
async function hook(bridge: RunningBridge, hook_event_name: string, fields: object = {}): Promise<unknown> {
  const { nvim } = bridge;
  const [port, token] = z
    .tuple([z.string(), z.string()])
    .parse(
      await nvim.lua("return { vim.env.CLAUDE_CODE_IDE_SERVER_PORT, vim.env.CLAUDE_CODE_IDE_AUTH_TOKEN }"),
    );
  const response = await fetch(`http://127.0.0.1:${port}/hook?pid=${process.pid}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ session_id: "s", cwd: nvim.dirs.workspace, hook_event_name, ...fields }),
  });
  if (!response.ok) throw new Error(`the hook was answered with ${response.status}`);
  const answer = await response.text();
  return answer === "" ? undefined : JSON.parse(answer);
}

t.test("hooks of Claude Code report turns and changes, and the gate makes Claude Code ask", async (t) => {
  const { bridge, nvim } = await startClaudeBridge(t);
  const path = nvim.path("a.txt");
  const write = { tool_name: "Write", tool_input: { file_path: path, content: "1\n" } };
  const activity = (expected: string) =>
    nvim.waitFor(`(require('gemini-bridge').status().clients[1] or {}).activity == '${expected}'`, expected);
  await hook(bridge, "SessionStart");
  const client = await SocketClient.connect(t, lockOf(bridge));
  await nvim.waitFor("(require('gemini-bridge').status().clients[1] or {}).hooks", "its hooks to be known");
  await hook(bridge, "UserPromptSubmit", { prompt: "Write it." });
  await activity("working");
  t.equal(await hook(bridge, "PreToolUse", write), undefined, "no gate");
  writeFileSync(path, "1\n");
  await hook(bridge, "PostToolUse", { ...write, tool_response: { filePath: path } });
  await nvim.waitFor("#require('gemini-bridge').changes() == 1", "the change");
  t.match(await nvim.lua("return require('gemini-bridge').changes()[1]"), {
    cli: "claude",
    status: "modified",
  });
  const shell = { tool_name: "Bash", tool_input: { command: "true" } };
  t.equal(await hook(bridge, "PreToolUse", shell), undefined);
  await hook(bridge, "PermissionRequest", shell);
  await activity("waiting");
  await hook(bridge, "PostToolUseFailure", { ...shell, error: "Exit code 1" });
  await activity("working");
  await hook(bridge, "Stop", { background_tasks: [{ id: "1", type: "subagent", status: "running" }] });
  await activity("working");
  await hook(bridge, "StopFailure", { error: "rate_limit" });
  await activity("idle");

  await nvim.command("GeminiGate on");
  t.match(await nvim.lua("return require('gemini-bridge').statusline()"), /gate on/);
  const ask = { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "ask" } };
  // The setting of the gate reaches the host later than the hook, because the setting uses another channel.
  await waitFor(async () => (await hook(bridge, "PreToolUse", write)) !== undefined, "the gate");
  t.match(await hook(bridge, "PreToolUse", write), ask);
  t.equal(await hook(bridge, "PreToolUse", shell), undefined, "commands are not edits");
  await hook(bridge, "PermissionRequest", write);
  await activity("waiting");
  const answer = client.openDiff(path, "2\n", "tab");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
  await nvim.command("GeminiReject");
  t.same(await answer, ["DIFF_REJECTED", "tab"]);
  await activity("idle");
  client.socket.terminate();
  await nvim.waitFor("#require('gemini-bridge').status().clients == 0", "its end");
  t.equal(await hook(bridge, "PreToolUse", write), undefined, "nobody could review");
});

t.test(
  "a rejection in Claude Code's terminal ends the turn and the edit, although no hook reports the rejection",
  async (t) => {
    const { bridge, nvim } = await startClaudeBridge(t);
    const path = nvim.path("a.txt");
    const write = { tool_name: "Write", tool_input: { file_path: path, content: "1\n" } };
    const activity = (expected: string) =>
      nvim.waitFor(`require('gemini-bridge').status().clients[1].activity == '${expected}'`, expected);
    await hook(bridge, "SessionStart");
    const client = await SocketClient.connect(t, lockOf(bridge));
    await nvim.waitFor("(require('gemini-bridge').status().clients[1] or {}).hooks", "its hooks to be known");
    const view = "table.concat(require('gemini-bridge.report.status_view').lines(), ' ')";
    t.match(await nvim.lua(`return ${view}`), /Claude Code 2\.1\.330, connected/);
    await hook(bridge, "UserPromptSubmit", { prompt: "Write it." });
    await hook(bridge, "PreToolUse", write);
    writeFileSync(path, "1\n");
    await hook(bridge, "PostToolUse", { ...write, tool_response: { filePath: path } });
    await nvim.waitFor("#require('gemini-bridge').changes() == 1", "the change");
    const reviewed = async (tab: string) => {
      await hook(bridge, "PreToolUse", write);
      await hook(bridge, "PermissionRequest", write);
      const answer = client.openDiff(path, "2\n", tab);
      await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
      t.same(await client.call("close_tab", { tab_name: tab }), ["TAB_CLOSED"]);
      t.same(await answer, ["DIFF_REJECTED", tab]);
    };

    await reviewed("allowed");
    await hook(bridge, "PostToolUse", { ...write, tool_response: { filePath: path } });
    await activity("working");
    await reviewed("rejected");
    await activity("idle");
    await nvim.command("GeminiUndo! all");
    await nvim.waitFor("#require('gemini-bridge').changes() == 0", "the undo");
    t.equal(readFileSync(path, "utf8"), "one\ntwo\nthree\n");
  },
);

t.test(
  ":Gemini cli=claude passes hooks and tools as arguments, and the user's arguments take precedence",
  async (t) => {
    const { nvim } = await startClaudeBridge(t, {
      init: "vim.env.PATH = vim.env.HOME .. '/bin:' .. vim.env.PATH",
    });
    const { home } = nvim.dirs;
    mkdirSync(join(home, "bin"));
    writeFileSync(
      join(home, "bin/claude"),
      `#!/bin/sh\nprintf '%s\\n' "$@" > "$HOME/run.new"; mv "$HOME/run.new" "$HOME/run"\nexec cat\n`,
    );
    chmodSync(join(home, "bin/claude"), 0o755);
    const run = async (command: string) => {
      rmSync(join(home, "run"), { force: true });
      await nvim.command(command);
      await waitFor(() => existsSync(join(home, "run")), "the program");
      return readFileSync(join(home, "run"), "utf8").trimEnd().split("\n");
    };
    const [settings = "", mcp = "", ...rest] = await run("Gemini! cli=claude --resume");
    t.same(rest, ["--permission-mode", "default", "--resume"]);
    const { hooks } = JSON.parse(settings.replace("--settings=", ""));
    t.match(hooks.PreToolUse[0], {
      matcher: "Edit|MultiEdit|Write|NotebookEdit|Bash",
      hooks: [{ type: "command" }],
    });
    t.match(hooks, { PostToolUseFailure: [{}], StopFailure: [{}] }, "a failed command and a failed request");
    const { neovim } = JSON.parse(mcp.replace("--mcp-config=", "")).mcpServers;
    t.equal(neovim.alwaysLoad, true);
    t.equal(neovim.headers.Authorization, `Bearer \${CLAUDE_CODE_IDE_AUTH_TOKEN}`);
    const token = String(await nvim.lua("return vim.env.CLAUDE_CODE_IDE_AUTH_TOKEN"));
    t.notMatch(settings + mcp, token, "other users can read command lines");
    t.match(await run("Gemini! cli=claude --settings=mine --dangerously-skip-permissions"), [
      /^--mcp-config=/,
      "--settings=mine",
      "--dangerously-skip-permissions",
    ]);
    t.same((await run("Gemini! cli=claude --permission-mode plan")).slice(2), ["--permission-mode", "plan"]);
  },
);
