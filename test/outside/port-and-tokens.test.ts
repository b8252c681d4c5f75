/**
 * Tests that port and tokens stay the same until Neovim exits, so that CLIs find the bridge after a restart. The tokens
 * must change if another program has taken the port.
 */
import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import t, { type Test } from "tap";
import { type RunningBridge, startBridge, startConnected } from "../support/bridge.ts";
import type { Discovery } from "../support/client.ts";
import { openStream } from "../support/event-stream.ts";
import { runHook } from "../support/hook.ts";
import { ask, INITIALIZE, initialize } from "../support/server.ts";
import { waitFor } from "../support/wait.ts";

let moment = 0;

t.test(
  "earlier hooks and clients find the bridge after a restart, and after a stop and a start",
  async (t) => {
    const { bridge, nvim } = await startBridge(t, { files: { "1.txt": "one\n", "2.txt": "one\n" } });
    const { port, content } = bridge.file();
    const tokens = "return require('gemini-bridge.bridge.status').get().tokens";
    const allTokens = await nvim.lua(tokens);
    const env = {
      GEMINI_CLI_IDE_SERVER_PORT: String(port),
      GEMINI_CLI_IDE_AUTH_TOKEN: content.authToken,
    };
    const hook = (hook_event_name: string, name: string) =>
      runHook(
        env,
        JSON.stringify({
          session_id: "s",
          cwd: nvim.dirs.workspace,
          hook_event_name,
          timestamp: new Date(++moment).toISOString(),
          tool_name: "write_file",
          tool_input: { file_path: nvim.path(name) },
          tool_response: { llmContent: "ok" },
        }),
      );

    for (const [name, commands] of [
      ["1.txt", ["GeminiRestart"]],
      ["2.txt", ["GeminiStop", "GeminiStart"]],
    ] as const) {
      const host = await bridge.host();
      for (const command of commands) {
        await nvim.command(command);
        if (command === "GeminiStop") await nvim.bridgeIs("stopped");
      }
      await bridge.nextHost(host);
      t.match(bridge.file(), { port, content: { authToken: content.authToken } }, `${commands}`);
      t.same(await nvim.lua(tokens), allTokens, "those of the other CLIs, too");
      t.equal(await nvim.lua("return vim.env.GEMINI_CLI_IDE_SERVER_PORT"), String(port));

      await hook("BeforeTool", name);
      writeFileSync(nvim.path(name), "two\n");
      await hook("AfterTool", name);
      await nvim.waitFor(
        `vim.iter(require('gemini-bridge').changes()):any(function(file) return file.path == '${nvim.path(name)}' end)`,
        "the change",
      );
      t.same(await (await bridge.client()).openDiff(nvim.path("new.txt"), "new\n"), { content: [] });
    }
  },
);

async function restart(bridge: RunningBridge): Promise<void> {
  const host = await bridge.host();
  await bridge.nvim.command("GeminiRestart");
  await bridge.nextHost(host);
}

t.test("shells that were opened before a restart find the default settings of Qwen Code", async (t) => {
  const { bridge, nvim } = await startBridge(t, { files: { "../home/.qwen/settings.json": "{}" } });
  const file = async () => String(await nvim.lua("return vim.env.QWEN_CODE_SYSTEM_DEFAULTS_PATH"));
  const before = await file();
  t.ok(existsSync(before));
  await restart(bridge);
  t.ok(existsSync(before), "after :GeminiRestart");
  await bridge.replaceHost();
  t.ok(existsSync(before), "after a crash");
  t.equal(await file(), before);
  await nvim.stopBridge();
  t.notOk(existsSync(before), "while the bridge is stopped");
});

t.test("a restart ends event streams without an error, and the sessions continue", async (t) => {
  const { bridge } = await startBridge(t);
  const { port, content } = bridge.file();
  const headers = { authorization: `Bearer ${content.authToken}` };
  const session = await initialize(port, headers);
  const before = await openStream(port, session, headers);
  await bridge.nvim.waitFor("#require('gemini-bridge').status().clients == 1", "the client");
  let problem: Error | undefined;
  before.response.on("error", (error) => (problem = error));
  await restart(bridge);
  await waitFor(before.ended, "the end of the stream");
  t.equal(problem, undefined);

  const after = await openStream(port, session, headers);
  const filePath = bridge.nvim.path("new.txt");
  const params = { name: "openDiff", arguments: { filePath, newContent: "new\n" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 9, method: "tools/call", params });
  t.match(await ask(port, { headers: { ...headers, "mcp-session-id": session }, body }), { status: 200 });
  await bridge.nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
  await bridge.nvim.command("GeminiAccept");
  t.same(await after.next("ide/diffAccepted"), { filePath, content: "new\n" });
});

t.test("a client counts as interrupted only if it has noticed the restart", async (t) => {
  const { bridge, nvim, client } = await startConnected(t);
  const isInterrupted = async () => {
    await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "the client");
    return nvim.lua("return require('gemini-bridge.bridge.status').get().clients[1].interrupted");
  };
  await restart(bridge);
  // On a busy machine, the new host may start after the client's first attempt to reconnect.
  t.equal(await isInterrupted(), client.errors.length > 0);
  t.same(await client.openDiff(nvim.path("new.txt"), "new\n"), { content: [] });

  process.kill(await bridge.host(), "SIGKILL");
  await nvim.waitFor("#require('gemini-bridge').status().clients == 0", "the crash to be seen");
  t.equal(await isInterrupted(), true);
  await restart(bridge);
  t.equal(await isInterrupted(), true, "a restart does not make up for a crash");

  client.errors.length = 0;
  await nvim.command("GeminiStop");
  await nvim.waitFor(() => client.errors.length > 0, "its first try to fail");
  await nvim.command("GeminiStart");
  t.equal(await isInterrupted(), true);
});

/** Starts a server that takes a port as soon as the port is free. */
function startThief(t: Test) {
  const thief = createServer((socket) => socket.on("error", () => {}));
  t.teardown(() => thief.close());
  const take = (port: number) =>
    new Promise<boolean>((resolve) => {
      thief.removeAllListeners("error").once("error", () => resolve(false));
      thief.listen(port, "127.0.0.1", () => resolve(true));
    });
  return (port: number) => waitFor(() => take(port), "the port");
}

/** Checks that the old token is refused and that Neovim's terminals get the new token. */
async function hasNewAddress(t: Test, bridge: RunningBridge, { port, content }: Discovery): Promise<void> {
  const next = bridge.file();
  t.not(next.port, port);
  t.not(next.content.authToken, content.authToken);
  const headers = { authorization: `Bearer ${content.authToken}` };
  t.equal((await ask(next.port, { headers, body: INITIALIZE })).status, 401, "what the thief heard");
  t.equal(await bridge.nvim.lua("return vim.env.GEMINI_CLI_IDE_AUTH_TOKEN"), next.content.authToken);
}

t.test("after a crash, the bridge gets new tokens if another program has taken its port", async (t) => {
  const { bridge } = await startBridge(t);
  const before = bridge.file();
  const host = await bridge.host();
  const take = startThief(t);
  process.kill(host, "SIGKILL");
  await take(before.port); // competes with the new host for the port
  await bridge.nextHost(host);
  await hasNewAddress(t, bridge, before);
});

t.test("after a stop, the bridge gets new tokens if another program has taken its port", async (t) => {
  const { bridge } = await startBridge(t);
  const before = bridge.file();
  await bridge.nvim.stopBridge();
  await startThief(t)(before.port);
  await bridge.nvim.startBridge();
  await hasNewAddress(t, bridge, before);

  const next = bridge.file();
  await bridge.nvim.command("GeminiRestart");
  await bridge.nvim.bridgeIs("running");
  t.match(
    bridge.file(),
    { port: next.port, content: { authToken: next.content.authToken } },
    "which it keeps",
  );
});
