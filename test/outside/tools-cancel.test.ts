/** Tests that a cancelled call changes nothing, closes its review, and leaves no open response. */
import { readFileSync } from "node:fs";
import type { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, type Progress } from "@modelcontextprotocol/sdk/types.js";
import t from "tap";
import { z } from "zod";
import { type RunningBridge, startBridge } from "../support/bridge.ts";
import { connectEditorClient, languageServer } from "../support/editor-client.ts";
import { type Answer, ask } from "../support/server.ts";

const FILES = {
  "greet.js": "function greet(name) {\n  return name;   \n}\n",
  "main.js": "greet('Ada');\r\nconst x = BAD;\r\n",
  "spare.js": "",
};
const RENAME = { path: "main.js", line: 1, symbol: "greet", new_name: "welcome" };

/** Sends calls as plain HTTP requests, so that tests can see the end of each response. */
async function start(t: Parameters<typeof startBridge>[0], mode = "normal") {
  const { bridge, nvim } = await startBridge(t, {
    files: FILES,
    args: ["spare.js"],
    init: languageServer(mode),
  });
  await nvim.command("edit greet.js | edit main.js");
  const client = await connectEditorClient(t, bridge);
  const { port, content } = bridge.file();
  const { sessionId } = client.mcp.transport as StreamableHTTPClientTransport;
  const headers = { authorization: `Bearer ${content.authToken}`, "mcp-session-id": sessionId };
  const post = (message: object) =>
    ask(port, { path: "/neovim", headers, body: JSON.stringify({ jsonrpc: "2.0", ...message }) });
  let last = 0;
  return {
    bridge,
    nvim,
    client,
    /** Calls a tool. `ended` resolves with the whole response. */
    begin(name: string, args: object): { id: string; ended: Promise<Answer> } {
      const id = `call ${++last}`;
      return { id, ended: post({ id, method: "tools/call", params: { name, arguments: args } }) };
    },
    cancel: (requestId: string) => post({ method: "notifications/cancelled", params: { requestId } }),
    onDisk: (name: string) => readFileSync(nvim.path(name), "utf8"),
    calls: (count: number) =>
      nvim.waitFor(
        `require('gemini-bridge.bridge.status').get().calls == ${count}`,
        `${count} calls to arrive`,
      ),
    isAsked: (expected: boolean) =>
      nvim.waitFor(
        `vim.iter(vim.lsp.get_clients()):any(function(client) return next(client.requests) ~= nil end) == ${expected}`,
        `the language server to be ${expected ? "asked" : "idle"}`,
      ),
  };
}

const reviews = async (bridge: RunningBridge) => (await bridge.status()).diffs.length;
const waitForReviews = (bridge: RunningBridge, count: number) =>
  bridge.nvim.waitFor(async () => (await reviews(bridge)) === count, `${count} reviews`);

t.test("an edit that is cancelled before the language server answers is not made", async (t) => {
  const { nvim, client, begin, cancel, isAsked, onDisk } = await start(t, "late");
  // The language server answers when a file is saved.
  const save = async () => {
    await nvim.command("buffer spare.js | set modified | write | buffer main.js");
    await isAsked(false);
  };
  for (const [name, args] of [
    ["rename", RENAME],
    ["format", { path: "greet.js" }],
  ] as const) {
    const { id, ended } = begin(name, args);
    await isAsked(true);
    t.equal((await cancel(id)).status, 202);
    t.notMatch((await ended).body, "jsonrpc", "the response ends without an answer");
    await save();
  }
  // A later edit uses the same queue. Before the later edit, earlier edits would be made.
  const later = client.text("rename", { ...RENAME, symbol: "Ada", new_name: "Eve" });
  await isAsked(true);
  await save();
  t.match(await later, "main.js: 1 edit");
  t.equal(onDisk("main.js"), FILES["main.js"].replace("Ada", "Eve"));
  t.equal(onDisk("greet.js"), FILES["greet.js"]);
});

t.test("an edit that is cancelled before Neovim answers is not made", async (t) => {
  const { nvim, client, begin, cancel, onDisk } = await start(t);
  await client.text("diagnostics", { path: "main.js", settle: true });
  const listed = await client.text("code_actions", { path: "main.js", line: 2 });
  const pid = Number(await nvim.lua("return vim.fn.getpid()"));
  t.teardown(() => process.kill(pid, "SIGCONT"));
  process.kill(pid, "SIGSTOP");
  const { id, ended } = begin("apply_code_action", { id: Number(/^(\d+):/m.exec(listed)?.[1]) });
  await cancel(id);
  t.notMatch((await ended).body, "jsonrpc");
  process.kill(pid, "SIGCONT");
  t.match(await client.text("format", { path: "greet.js" }), "1 file changed");
  t.equal(onDisk("main.js"), FILES["main.js"]);
});

t.test("thirty cancelled calls leave no open response", async (t) => {
  const { client, begin, cancel, calls } = await start(t, "slow");
  const begun = Array.from({ length: 30 }, () =>
    begin("hover", { path: "main.js", line: 1, symbol: "greet" }),
  );
  await calls(30);
  await Promise.all(begun.map(({ id }) => cancel(id)));
  for (const { body } of await Promise.all(begun.map(({ ended }) => ended))) t.notMatch(body, "jsonrpc");
  t.match(await client.text("buffers"), "3 files open", "the session continues");
});

t.test("a cancelled call of a tool closes its review", async (t) => {
  const { bridge, nvim, client, begin, cancel, onDisk } = await start(t);
  await nvim.command("GeminiGate on");
  const windows = () =>
    nvim.lua("return #vim.api.nvim_list_wins() + #vim.fn.getbufinfo({ buflisted = 1 }) * 100");
  const before = await windows();
  const format = { path: "greet.js" };

  const first = begin("format", format);
  await waitForReviews(bridge, 1);
  t.not(await windows(), before, "the review is shown");
  await cancel(first.id);
  t.notMatch((await first.ended).body, "jsonrpc");
  await waitForReviews(bridge, 0);
  await nvim.waitFor(async () => (await windows()) === before, "the windows and buffers as before");
  t.match(await nvim.messages(), /has cancelled its edit\. The review of greet\.js was closed/);
  t.equal(onDisk("greet.js"), FILES["greet.js"]);

  const replaced = begin("format", format);
  await waitForReviews(bridge, 1);
  const second = begin("format", format);
  t.match((await replaced.ended).body, "a later call proposes something else");
  await cancel(replaced.id);
  await client.text("buffers");
  t.equal(await reviews(bridge), 1, "the review of the later call stays");

  await nvim.command("GeminiReview");
  await nvim.input("ggOmine<Esc>");
  await nvim.waitFor("vim.fn.getline(1) == 'mine' and vim.fn.mode() == 'n'", "the user's edit");
  await cancel(second.id);
  await waitForReviews(bridge, 0);
  await nvim.says(/Open your edits with :edit gemini:\/\/kept\//);
  t.equal(onDisk("greet.js"), FILES["greet.js"]);
});

t.test("when a client disconnects, its reviews close, even without an end of its session", async (t) => {
  const { bridge, nvim, onDisk } = await start(t);
  await nvim.command("GeminiGate on");
  for (const end of ["connection", "session"]) {
    const leaving = await connectEditorClient(t, bridge);
    const call = leaving.call("format", { path: "greet.js" }).catch(() => "gone");
    await waitForReviews(bridge, 1);
    if (end === "connection") await leaving.mcp.close();
    else await (leaving.mcp.transport as StreamableHTTPClientTransport).terminateSession();
    await waitForReviews(bridge, 0);
    await leaving.mcp.close();
    t.equal(await call, "gone", end);
  }
  t.equal(onDisk("greet.js"), FILES["greet.js"]);
});

t.test("a client that asks for progress receives it while the user decides", async (t) => {
  const { bridge, nvim, client, begin } = await start(t);
  await nvim.command("GeminiGate on");
  const silent = begin("format", { path: "greet.js" });
  await waitForReviews(bridge, 1);
  const received: Progress[] = [];
  const params = { name: "rename", arguments: { ...RENAME, symbol: "Ada", new_name: "Eve" } };
  const answer = client.mcp.request({ method: "tools/call", params }, CallToolResultSchema, {
    onprogress: (progress) => void received.push(progress),
  });
  await nvim.waitFor(() => received.length > 0, "progress");
  t.match(received, [{ progress: 1, message: "Waiting for the user's decision" }]);
  await nvim.command("GeminiAccept main.js");
  await nvim.command("GeminiAccept greet.js");
  t.match(CallToolResultSchema.parse(await answer).content, [
    { text: /^Changed and written: 1 of 1 file\./ },
  ]);
  const messages = (await silent.ended).body.match(/^data: .*$/gm) ?? [];
  t.equal(messages.length, 1, "a call without a token gets only its answer");
  t.match(z.object({ result: z.object({}) }).safeParse(JSON.parse(messages[0]?.slice(6) ?? "")), {
    success: true,
  });
});
