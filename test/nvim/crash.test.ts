import { existsSync, readFileSync, writeFileSync } from "node:fs";
import t from "tap";
import { startBridge, startConnected } from "../support/bridge.ts";
import { openStream } from "../support/event-stream.ts";
import { isAlive } from "../support/processes.ts";
import { ask, initialize } from "../support/server.ts";
import { waitFor } from "../support/wait.ts";

/** Error messages of Neovim about a closed channel. */
const CHANNEL_ERRORS = /channel|E475|E5108|stack traceback|Error /i;

t.test("a killed host is restarted with the same port and tokens, and everything continues", async (t) => {
  const { bridge, nvim, client } = await startConnected(t, {
    files: { "a.txt": "one\n", "b.txt": "" },
    args: ["a.txt"],
  });
  const path = nvim.path("a.txt");
  t.same(await client.openDiff(path, "two\n"), { content: [] });
  const before = bridge.file();
  const windows = await nvim.lua("return vim.api.nvim_list_wins()");

  let host = await bridge.host();
  for (const round of [1, 2]) {
    process.kill(host, "SIGKILL");
    await waitFor(() => bridge.files().length === 0, "the discovery file to go");
    t.same(await nvim.lua("return vim.api.nvim_list_wins()"), windows, "the review stays open");
    host = await bridge.nextHost(host);
    const after = bridge.file();
    t.same({ ...after, path: "" }, { ...before, path: "" }, "port, token and name are the same");
    await nvim.waitFor(async () => (await bridge.status()).clients.length === 1, "the client to come back");
    client.received["ide/contextUpdate"].length = 0;
    await nvim.command(round === 1 ? "edit b.txt" : "edit a.txt");
    await client.waitForNotification("ide/contextUpdate");
  }
  await nvim.command("GeminiAccept");
  t.same(await client.waitForNotification("ide/diffAccepted"), { filePath: path, content: "two\n" });
  t.equal(client.received["ide/diffAccepted"].length, 1);
  const messages = await nvim.messages();
  t.equal(messages.match(/has crashed/g)?.length, 1, "the user is told once");
  t.notMatch(messages, CHANNEL_ERRORS);
});

t.test("a restarted host answers its clients while Neovim is busy", async (t) => {
  const { bridge, nvim } = await startBridge(t, { files: { "a.txt": "" } });
  const { port, content } = bridge.file();
  const headers = { authorization: `Bearer ${content.authToken}` };
  const session = { ...headers, "mcp-session-id": await initialize(port, headers) };
  const [isBusy, go] = ["busy", "go"].map((name) => nvim.path(name)) as [string, string];
  await nvim.lua(
    `local is_busy, go = ...
    local rpc = require("gemini-bridge.calls")
    local call = rpc.call
    function rpc.call(name, ...)
      if name == "set_environment" then
        vim.fn.writefile({}, is_busy)
        vim.wait(5000, function() return vim.uv.fs_stat(go) ~= nil end, 10, true)
        os.remove(is_busy)
      end
      return call(name, ...)
    end`,
    isBusy,
    go,
  );
  const host = await bridge.host();
  process.kill(host, "SIGKILL");
  await waitFor(() => existsSync(isBusy), "Neovim to be busy with what the host tells it");
  const body = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/list" });
  const answer = await ask(port, { headers: session, body });
  t.equal(answer.status, 200);
  t.match(answer.body, /openDiff/);
  t.ok(existsSync(isBusy), "Neovim is still busy");
  writeFileSync(go, "");
  await bridge.nextHost(host);
});

t.test("a restarted host knows a review before the review is shown", async (t) => {
  const { bridge, nvim } = await startBridge(t, { files: { "a.txt": "one\n" }, args: ["a.txt"] });
  await nvim.lua(`vim.api.nvim_create_autocmd("BufFilePost", {
    pattern = "gemini://*",
    once = true,
    callback = function()
      local memory = require("gemini-bridge.bridge.memory").get()
      known = vim.tbl_map(function(diff) return diff.filePath end, memory and memory.diffs or {})
    end,
  })`);
  const client = await bridge.client();
  await client.openDiff(nvim.path("a.txt"), "two\n");
  t.same(await nvim.lua("return known"), [nvim.path("a.txt")]);
});

t.test("a decision made while no host runs reaches the client when it returns", async (t) => {
  const { bridge, nvim } = await startBridge(t, { files: { "a.txt": "", "b.txt": "" } });
  const first = await bridge.client("first");
  const second = await bridge.client("second");
  await first.openDiff(nvim.path("a.txt"), "two\n");
  await second.openDiff(nvim.path("b.txt"), "three\n");
  const host = await bridge.crash(`GeminiAccept ${nvim.path("a.txt")}`, `GeminiReject ${nvim.path("b.txt")}`);
  await bridge.nextHost(host);
  t.same(await first.waitForNotification("ide/diffAccepted", undefined, 10_000), {
    filePath: nvim.path("a.txt"),
    content: "two\n",
  });
  t.same(await second.waitForNotification("ide/diffRejected", undefined, 10_000), {
    filePath: nvim.path("b.txt"),
  });
  t.same(first.received["ide/diffRejected"], []);
  await nvim.waitFor("#require('gemini-bridge.review.records').decided() == 0", "nothing to be left over");
});

t.test("a decision that a crashing host has received is not lost", async (t) => {
  const { bridge, nvim } = await startBridge(t, { files: { "a.txt": "" } });
  const { port } = bridge.file();
  const token = { authorization: `Bearer ${bridge.file().content.authToken}` };
  const session = await initialize(port, token);
  const stream = await openStream(port, session, token);
  await callOpenDiff(port, session, token, nvim.path("a.txt"));
  stream.break();
  await nvim.waitFor(async () => (await bridge.status()).clients.length === 0, "the break to be seen");
  await nvim.command("GeminiAccept"); // the client has no event stream for this decision yet
  await bridge.replaceHost();
  const again = await openStream(port, session, { ...token, "last-event-id": "unknown" });
  t.same(await again.next("ide/diffAccepted"), { filePath: nvim.path("a.txt"), content: "proposed\n" });
});

t.test(
  "if a client does not return after a crash, its reviews close and the accepted text is kept",
  async (t) => {
    const init = "require('gemini-bridge.host.boot').limits.reconnect_ms = 1000";
    const { bridge, nvim, client } = await startConnected(t, { init, files: { "a.txt": "", "b.txt": "" } });
    await client.openDiff(nvim.path("a.txt"), "kept\r\ntext");
    await client.openDiff(nvim.path("b.txt"), "");
    await client.close();
    await nvim.waitFor(async () => (await bridge.status()).clients.length === 0, "the break to be seen");
    await nvim.command(`GeminiAccept ${nvim.path("a.txt")}`);
    await nvim.waitFor(async () => (await bridge.status()).diffs.length === 0, "the other review to close");
    const found = /Open the accepted text of \S+ with :edit (\S+)/;
    const messages = await nvim.says(found);
    t.match(messages, "Open the accepted text of a.txt");
    await nvim.command(`edit ${found.exec(messages)?.[1]} | write ${nvim.path("kept.txt")}`);
    t.equal(readFileSync(nvim.path("kept.txt"), "utf8"), "kept\r\ntext", "byte for byte");
  },
);

t.test("stopping the bridge reports undelivered decisions", async (t) => {
  const { bridge, nvim, client } = await startConnected(t, { files: { "a.txt": "" } });
  await client.openDiff(nvim.path("a.txt"), "kept\n");
  await bridge.crash("GeminiAccept", "GeminiStop");
  await nvim.bridgeIs("stopped");
  t.match(await nvim.messages(), /Open the accepted text of a\.txt with :edit gemini:/);
  t.same(await nvim.lua("return require('gemini-bridge.review.records').decided()"), []);
});

t.test("stopping the bridge does not report that the CLI has disconnected", async (t) => {
  const { nvim, client } = await startConnected(t, { files: { "a.txt": "" } });
  await client.openDiff(nvim.path("a.txt"), "proposed\n");
  await nvim.stopBridge();
  t.same(await nvim.lua("return require('gemini-bridge').diffs()"), []);
  t.notMatch(await nvim.messages(), /disconnected/);
});

t.test("the message about a crash causes no press-enter prompt", async (t) => {
  const { bridge, nvim } = await startBridge(t, { tui: true });
  await nvim.lua("vim.o.columns = 80");
  await bridge.replaceHost();
  t.same(await nvim.nvim.mode, { mode: "n", blocking: false });
  t.match(await nvim.messages(), /has crashed/);
});

t.test("uncaught errors and exhausted memory are handled like other crashes", async (t) => {
  for (const [name, flaw, reason] of [
    ["an error", "throw new Error('a flaw')", /a flaw/],
    ["a rejection", "Promise.reject(new Error('a flaw'))", /a flaw/],
    ["memory", "const all = []; for (;;) all.push({ n: all.length })", /FATAL ERROR|signal/],
  ] as const) {
    await t.test(name, async (t) => {
      // Only the first host loads the fault. Later hosts do not.
      const node = `
        local dir = vim.fn.stdpath('data')
        vim.fn.mkdir(dir, 'p')
        vim.fn.writefile({
          "const { existsSync } = require('node:fs');",
          "const wait = setInterval(() => {",
          "  if (!existsSync('" .. dir .. "/now')) return;",
          "  clearInterval(wait);",
          ${JSON.stringify(`  ${flaw};`)},
          "}, 20);",
        }, dir .. '/flaw.js')
        vim.fn.writefile({
          '#!/bin/sh',
          'if mv ' .. dir .. '/flaw.js ' .. dir .. '/flawed.js 2>/dev/null; then',
          '  exec ${process.execPath} --max-old-space-size=60 --require ' .. dir .. '/flawed.js "$@"',
          'fi',
          'exec ${process.execPath} "$@"',
        }, dir .. '/node')
        vim.fn.setfperm(dir .. '/node', 'rwx------')
        require('gemini-bridge').setup({ node = dir .. '/node' })`;
      const { bridge } = await startBridge(t, { init: node });
      const { port, content } = bridge.file();
      const host = await bridge.host();
      await bridge.nvim.lua("vim.fn.writefile({}, vim.fn.stdpath('data') .. '/now')");
      await bridge.nextHost(host);
      t.equal(bridge.file().port, port);
      t.equal(bridge.file().content.authToken, content.authToken);
      t.match(await bridge.nvim.messages(), reason);
      t.notMatch(await bridge.nvim.messages(), /stack traceback|0x[0-9a-f]{8}/);
    });
  }
});

t.test("a host that keeps crashing is given up after five restarts, and can be started again", async (t) => {
  const { bridge, nvim } = await startBridge(t);
  const path = bridge.file().path;
  // Replaces the Node program by a program that exits immediately.
  await nvim.lua("require('gemini-bridge').setup({ node = 'false' })");
  process.kill(await bridge.host(), "SIGKILL");
  await nvim.bridgeIs("stopped");
  const messages = await nvim.messages();
  t.equal(messages.match(/has crashed \(/g)?.length, 1);
  t.equal(messages.match(/has crashed repeatedly/g)?.length, 1);
  t.notOk(existsSync(path));
  t.equal(await nvim.lua("return vim.env.GEMINI_CLI_IDE_SERVER_PORT"), null);
  await nvim.lua("require('gemini-bridge').setup({})");
  await nvim.startBridge();
  t.ok(isAlive(await bridge.host()));
});

/** Calls the tool as a client without the SDK does. */
async function callOpenDiff(
  port: number,
  session: string,
  token: { authorization: string },
  filePath: string,
) {
  const params = { name: "openDiff", arguments: { filePath, newContent: "proposed\n" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params });
  const answer = await ask(port, { body, headers: { ...token, "mcp-session-id": session } });
  t.equal(answer.status, 200);
}
