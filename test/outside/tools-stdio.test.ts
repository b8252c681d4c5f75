import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text as streamText } from "node:stream/consumers";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  CallToolResultSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import t from "tap";
import * as z from "zod";
import { startBridge } from "../support/bridge.ts";
import { type EditorClient, editorClient, languageServer } from "../support/editor-client.ts";
import { root } from "../support/nvim.ts";
import type { Scope } from "../support/scope.ts";
import { temporary } from "../support/temporary.ts";

const NONE = /No Neovim with gemini-bridge\.nvim is open for .*:GeminiStart/;

async function startProgram(t: Scope, cwd: string, tmp: string, env = {}): Promise<EditorClient> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [join(root, "dist/neovim.cjs")],
    cwd,
    env: { PATH: process.env["PATH"] ?? "", TMPDIR: tmp, ...env },
  });
  const mcp = new Client({ name: "test", version: "1" });
  t.teardown(() => mcp.close());
  await mcp.connect(transport);
  return editorClient(mcp);
}

t.test("the stdio program serves any MCP client", async (t) => {
  const { bridge, nvim } = await startBridge(t, {
    files: { "a.md": "# A\n", "sub/b.md": "# B\n" },
    args: ["a.md"],
  });
  const client = await startProgram(t, nvim.path("sub"), nvim.dirs.tmp);
  const { mcp } = client;

  await t.test("the stdio program passes on Neovim's answers", async (t) => {
    t.match(mcp.getServerVersion(), { name: "neovim" });
    t.match(mcp.getInstructions(), /settle/);
    t.match(await client.text("buffers"), "1 file open\na.md, 1 line");
    t.match(await client.refusal("read_buffer", { path: "/etc/passwd" }), "is outside");
    const { resources } = await mcp.listResources();
    t.ok(resources.some(({ uri }) => uri === "nvim://buffer/a.md"));
    await t.rejects(mcp.getPrompt({ name: "fix", arguments: { path: "none" } }), /There is no such file/);
    const calls = Array.from({ length: 50 }, () => client.text("buffers"));
    t.equal(new Set(await Promise.all(calls)).size, 1);
  });

  await t.test("the stdio program reconnects after a restart of the bridge", async (t) => {
    let told = 0;
    mcp.setNotificationHandler(ToolListChangedNotificationSchema, () => void told++);
    await nvim.command("GeminiRestart");
    await nvim.bridgeIs("running");
    t.match(await client.text("buffers"), "1 file open");
    t.ok(told > 0, "the client is told to look again");
  });

  await t.test(
    "subscriptions of the stdio program continue after a crash of the host, without a new request",
    async () => {
      const updated: string[] = [];
      mcp.setNotificationHandler(
        ResourceUpdatedNotificationSchema,
        ({ params }) => void updated.push(params.uri),
      );
      await mcp.subscribeResource({ uri: "nvim://quickfix" });
      await bridge.replaceHost();
      await nvim.waitFor(async () => {
        await nvim.command("doautocmd QuickFixCmdPost gemini");
        return updated.includes("nvim://quickfix");
      }, "the notification");
      await mcp.unsubscribeResource({ uri: "nvim://quickfix" });
    },
  );

  await t.test("without a running bridge, the stdio program gives advice and lists its tools", async (t) => {
    const before = await mcp.listTools();
    await nvim.stopBridge();
    t.match(await client.refusal("buffers"), NONE);
    t.same(await mcp.listTools(), before);
    t.same((await mcp.listPrompts()).prompts.length, 4);
    t.same(await mcp.listResources(), { resources: [] });
    await t.rejects(mcp.readResource({ uri: "nvim://buffers" }), NONE);
  });

  await t.test("the stdio program does not use an editor of another directory", async (t) => {
    await nvim.startBridge();
    t.match(await client.text("buffers"), "1 file open", "this one is found again");
    const elsewhere = await startProgram(t, temporary(t), nvim.dirs.tmp);
    t.match(await elsewhere.refusal("buffers"), NONE);
  });
});

t.test("the stdio program answers immediately that a later protocol version is unknown", async (t) => {
  const program = spawn(process.execPath, [join(root, "dist/neovim.cjs")], {
    cwd: temporary(t),
    env: { PATH: process.env["PATH"] },
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.teardown(() => program.kill());
  program.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "server/discover" })}\n`);
  const [line] = await once(createInterface({ input: program.stdout }), "line");
  t.match(JSON.parse(String(line)), { id: 1, error: { code: -32601 } });
});

t.test("the stdio program answers all requests before it ends with its input", async (t) => {
  const { nvim } = await startBridge(t, { files: { "a.md": "# A\n" }, args: ["a.md"] });
  const program = spawn(process.execPath, [join(root, "dist/neovim.cjs")], {
    cwd: nvim.path("."),
    env: { PATH: process.env["PATH"], TMPDIR: nvim.dirs.tmp },
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.teardown(() => program.kill());
  const ended = once(program, "exit");
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } };
  const messages = [
    { id: 1, method: "initialize", params },
    { method: "notifications/initialized" },
    { id: 2, method: "tools/call", params: { name: "buffers", arguments: {} } },
  ];
  program.stdin.end(
    messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join(""),
  );
  t.match(await streamText(program.stdout), /a\.md, 1 line.*"id":2/);
  t.same(await ended, [0, null]);
});

t.test("a cancelled call of the stdio program closes its review and gets no answer", async (t) => {
  const { nvim } = await startBridge(t, {
    files: { "a.js": "const a = 1;   \n" },
    args: ["a.js"],
    init: languageServer(),
  });
  await nvim.command("GeminiGate on");
  const { mcp, text } = await startProgram(t, nvim.path(""), nvim.dirs.tmp);
  const errors: Error[] = [];
  mcp.onerror = (error) => void errors.push(error);
  const reviews = (count: number) =>
    nvim.waitFor(`#require('gemini-bridge').status().diffs == ${count}`, `${count} reviews`);
  const cancelling = new AbortController();
  const params = { name: "format", arguments: { path: "a.js" } };
  const call = mcp
    .request({ method: "tools/call", params }, CallToolResultSchema, { signal: cancelling.signal })
    .catch(() => "cancelled");
  await reviews(1);
  cancelling.abort();
  t.equal(await call, "cancelled");
  await reviews(0);
  t.match(await text("buffers"), "1 file open");
  t.same(errors, [], "clients take the answer to a cancelled request for an error of the connection");
});

t.test("the stdio program finds the editor by the variables of a derived CLI", async (t) => {
  const clis =
    "gemini = false, qwen = false, llxprt = false, ola = { like = 'gemini', directory = '~/.ola', env = 'OLA_' }";
  const { nvim } = await startBridge(t, {
    files: { "a.md": "# A\n", "../home/.ola/settings.json": "{}" },
    args: ["a.md"],
    init: `require('gemini-bridge').setup({ clis = { ${clis} } })`,
  });
  const names = ["OLA_SERVER_PORT", "OLA_AUTH_TOKEN", "OLA_WORKSPACE_PATH"];
  const values = z.array(z.string()).parse(await nvim.lua("return vim.tbl_map(vim.fn.getenv, ...)", names));
  const env = Object.fromEntries(names.map((name, index) => [name, values[index]]));
  const inside = await startProgram(t, nvim.path(""), nvim.dirs.tmp, env);
  t.match(await inside.text("buffers"), "1 file open");
  const elsewhere = await startProgram(t, temporary(t), nvim.dirs.tmp, env);
  t.match(await elsewhere.refusal("buffers"), NONE, "not for another directory");
  const wrong = await startProgram(t, nvim.path(""), nvim.dirs.tmp, { ...env, OLA_AUTH_TOKEN: "x" });
  t.match(await wrong.refusal("buffers"), NONE, "nor with another token");
});

t.test("the stdio program also finds an editor that has only other CLIs than Gemini CLI", async (t) => {
  for (const cli of ["qwen", "llxprt"]) {
    const others = ["gemini", "qwen", "llxprt"].filter((name) => name !== cli);
    const { nvim } = await startBridge(t, {
      files: { "a.md": "# A\n", "../home/.qwen/settings.json": "{}" },
      args: ["a.md"],
      init: `require('gemini-bridge').setup({ clis = { ${others.map((name) => `${name} = false`).join(", ")} } })`,
    });
    const client = await startProgram(t, nvim.path(""), nvim.dirs.tmp, { HOME: nvim.dirs.home });
    t.match(await client.text("buffers"), "1 file open", cli);
  }
});
