/** Tests the WebSocket without an editor: requests without a token, requests of web pages, invalid messages. */
import { EventEmitter, once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import t, { type Test } from "tap";
import { WebSocket } from "ws";
import { createLog } from "../../src/base/log.ts";
import { createSocketEndpoint } from "../../src/claude/endpoint.ts";
import type { Times } from "../../src/claude/sessions.ts";
import type { ClientEvents } from "../../src/http/client.ts";
import { listen } from "../../src/http/listen-on-port.ts";
import { anyString, fuzz } from "../support/fuzz.ts";
import { headersOf, SocketClient } from "../support/socket-client.ts";
import { waitFor } from "../support/wait.ts";

const TOKEN = "the-token-of-the-socket";
const HTTP_TOKEN = "the-token-of-hooks";

async function start(
  t: Test,
  { times, ...limits }: { times?: Times; maxSessions?: number; maxMessage?: number } = {},
) {
  const log = createLog();
  const tokens = { claude: HTTP_TOKEN, "claude/socket": TOKEN };
  const names = { names: ["claude"], socketNames: ["claude/socket"] };
  const { port, serve, close, server } = await listen({ ...names, before: { tokens }, log });
  const events = new EventEmitter<ClientEvents>();
  const calls: string[] = [];
  for (const event of ["connected", "disconnected", "ended"] as const)
    events.on(event, ({ info }) => void calls.push(`${event} ${info.credential}`));
  const endpoint = createSocketEndpoint({
    version: "0",
    log,
    address: { port, tokens: { claude: TOKEN } },
    maxSessions: 50,
    maxMessage: 100_000,
    ...limits,
    events,
    identify: (cli) => ({ cli, mentions: true }),
    reviewsOf: () => ({
      reviews: { openDiff: async () => {}, dismiss: async () => {}, dismissAll: async () => 0 },
      unchanged: () => {},
      refused: () => {},
      answered: () => {},
    }),
    diagnose: async () => [],
    ...(times && { times }),
  });
  await serve([], 100_000, endpoint);
  t.teardown(close);
  const connections = () =>
    new Promise<number>((resolve, reject) => {
      server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  return { port, authToken: TOKEN, endpoint, calls, close, connections };
}

/**
 * Sends the bytes of a handshake.
 * @returns the whole answer, or the start of the answer if the server accepts the connection
 */
async function handshake(
  port: number,
  change: Record<string, string | undefined>,
  path = "/",
): Promise<string> {
  const headers = {
    Host: `127.0.0.1:${port}`,
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    "Sec-WebSocket-Protocol": "mcp",
    ...headersOf(TOKEN),
    ...change,
  };
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : `${name}: ${value}`,
  );
  const socket = connect(port, "127.0.0.1");
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
  const [first] = await once(socket, "data", { signal: AbortSignal.timeout(5_000) });
  if (String(first).startsWith("HTTP/1.1 101")) {
    socket.destroy();
    return String(first);
  }
  return String(first) + (await text(socket));
}

t.test("only the handshake of the CLI is accepted on the WebSocket", async (t) => {
  const { port, connections } = await start(t);
  t.match(await handshake(port, {}), /^HTTP\/1.1 101 .*Sec-WebSocket-Protocol: mcp/s);
  const extension = { "Sec-WebSocket-Extensions": "permessage-deflate; client_max_window_bits" };
  t.notMatch(await handshake(port, extension), /Sec-WebSocket-Extensions/i, "no compression");
  const refused: [string, Record<string, string | undefined>, number][] = [
    ["a web page", { Origin: `http://127.0.0.1:${port}` }, 403],
    ["a page without an origin", { Origin: "null" }, 403],
    ["another host", { Host: "attacker.example" }, 403],
    ["no host name", { Host: `127.0.0.1` }, 403],
    ["no token", { "X-Claude-Code-Ide-Authorization": undefined }, 401],
    ["an empty token", { "X-Claude-Code-Ide-Authorization": "" }, 401],
    ["the token of hooks", { "X-Claude-Code-Ide-Authorization": HTTP_TOKEN }, 401],
    ["a longer token", { "X-Claude-Code-Ide-Authorization": `${TOKEN}x` }, 401],
    [
      "the token elsewhere",
      { "X-Claude-Code-Ide-Authorization": undefined, Authorization: `Bearer ${TOKEN}` },
      401,
    ],
    ["another protocol", { Upgrade: "h2c" }, 400],
    ["no key", { "Sec-WebSocket-Key": undefined }, 400],
    ["another version", { "Sec-WebSocket-Version": "7" }, 400],
  ];
  for (const [what, change, status] of refused)
    t.match(await handshake(port, change), new RegExp(`^HTTP/1.1 ${status} `), what);
  t.match(await handshake(port, {}, "/mcp"), /^HTTP\/1.1 404 /);
  const other = new WebSocket(`ws://127.0.0.1:${port}/`, ["other"], { headers: headersOf(TOKEN) });
  const [reason] = await once(other, "error");
  t.match(reason, { message: "Server sent no subprotocol" });

  const bearer = { authorization: `Bearer ${TOKEN}` };
  t.equal((await fetch(`http://127.0.0.1:${port}/mcp`, { headers: bearer })).status, 401, "nor by HTTP");
  await waitFor(async () => (await connections()) <= 1, "no connection left");
});

t.test("WebSocket clients above the limit are refused", async (t) => {
  const server = await start(t, { maxSessions: 1 });
  const client = await SocketClient.connect(t, server);
  t.match(await handshake(server.port, {}), /^HTTP\/1.1 503 /);
  client.socket.terminate();
  await waitFor(async () => /101/.test(await handshake(server.port, {})), "room for another");
});

t.test("an invalid message ends only its own connection", async (t) => {
  const server = await start(t);
  const other = await SocketClient.connect(t, server);
  const broken: [string, (client: SocketClient) => void, number][] = [
    ["no JSON", ({ socket }) => socket.send("{"), 1007],
    ["no message", ({ socket }) => socket.send("[]"), 1007],
    ["a batch", ({ socket }) => socket.send('[{"jsonrpc":"2.0","method":"a"}]'), 1007],
    ["a long id", (client) => client.send({ id: "x".repeat(1_000), method: "ping" }), 1007],
    ["invalid UTF-8", ({ socket }) => socket.send(Buffer.from([0x22, 0xff, 0x22]), { binary: false }), 1007],
    ["binary data", ({ socket }) => socket.send(Buffer.from("{}")), 1003],
    ["a long message", (client) => client.send({ method: "x".repeat(200_000) }), 1009],
    [
      "long fragments",
      ({ socket }) => ["[", "]"].map((end) => socket.send(end.repeat(60_000), { fin: false })),
      1009,
    ],
  ];
  for (const [what, send, code] of broken) {
    const client = await SocketClient.connect(t, server);
    send(client);
    t.equal(await client.closed(), code, what);
  }
  const frames: [string, number[]][] = [
    ["a frame that is not masked", [0x81, 0x01, 0x61]],
    ["a compressed frame", [0xc1, 0x82, 0, 0, 0, 0, 0x7b, 0x7d]],
    ["a continuation of nothing", [0x80, 0x82, 0, 0, 0, 0, 0x7b, 0x7d]],
  ];
  for (const [what, bytes] of frames) {
    const client = await SocketClient.connect(t, server);
    Reflect.get(client.socket, "_socket").write(Buffer.from(bytes));
    t.equal(await client.closed(), 1002, what);
  }
  t.same(await other.request("ping", {}), {});
});

t.test("the name of a client on the WebSocket is shortened to one short line", async (t) => {
  const { endpoint, ...address } = await start(t);
  await SocketClient.connect(t, address, `%{%x%}\n\u001b]0;t\u2028${"x".repeat(1000)}`);
  await waitFor(() => endpoint.connected().length === 1, "the client");
  const name = endpoint.connected()[0]?.info.name;
  t.match(name, /^%\{%x%\} {2}\]0;t x+$/);
  t.equal(name?.length, 60);
});

t.test("a message in several WebSocket frames is joined", async (t) => {
  const { socket } = await SocketClient.connect(t, await start(t));
  const message = '{"jsonrpc":"2.0","id":"fragments","method":"ping"}';
  for (const [index, letter] of [...message].entries())
    socket.send(letter, { fin: index === message.length - 1 });
  const [answer] = await once(socket, "message", { signal: AbortSignal.timeout(5_000) });
  t.match(JSON.parse(String(answer)), { id: "fragments", result: {} });
});

t.test("peers that answer no ping are disconnected, and other peers stay connected", async (t) => {
  const server = await start(t, { times: { start: 300, settle: 10, ping: 200 } });
  const mute = await SocketClient.open(t, server);
  t.equal(await mute.closed(), 1006, "it has not introduced itself");
  const client = await SocketClient.connect(t, server);
  const silent = await SocketClient.connect(t, server);
  silent.socket.pong = () => {};
  Reflect.set(silent.socket, "_autoPong", false);
  t.equal(await silent.closed(), 1006);
  t.same(await client.request("ping", {}), {});
  await waitFor(() => server.endpoint.connected().length === 1, "one to be left");
  t.same(server.calls, ["connected claude", "connected claude", "disconnected claude", "ended claude"]);
  await server.close();
  t.equal(await client.closed(), 1001);
});

t.test("whatever messages a client sends, other clients are served", async (t) => {
  const server = await start(t);
  const witness = await SocketClient.connect(t, server);
  const value = fc.oneof(
    anyString({ maxLength: 40 }),
    fc.integer(),
    fc.constant(null),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const method = fc.oneof(
    fc.constantFrom(
      "initialize",
      "tools/call",
      "tools/list",
      "ping",
      "notifications/cancelled",
      "ide_connected",
    ),
    anyString({ maxLength: 20 }),
  );
  const name = fc.constantFrom("openDiff", "close_tab", "closeAllDiffTabs", "getDiagnostics", "none");
  const args = fc.dictionary(
    fc.constantFrom("old_file_path", "new_file_path", "new_file_contents", "tab_name", "uri", "__proto__"),
    value,
  );
  const params = fc.oneof(value, fc.record({ name, arguments: args }), fc.record({ requestId: value }));
  const message = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record(
        { jsonrpc: fc.constant("2.0"), id: value, method, params },
        { requiredKeys: ["jsonrpc"] },
      ),
    },
    { weight: 1, arbitrary: value },
  );
  const frame = fc.oneof(
    { weight: 6, arbitrary: message.map((one) => JSON.stringify(one)) },
    { weight: 1, arbitrary: anyString({ maxLength: 100 }) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)) },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(frame, { minLength: 1, maxLength: 8 }),
      fc.boolean(),
      async (frames, introduced) => {
        const client = introduced
          ? await SocketClient.connect(t, server)
          : await SocketClient.open(t, server);
        client.socket.removeAllListeners("message");
        for (const each of frames) client.socket.send(each, () => {});
        await witness.request("ping", {});
        client.socket.terminate();
      },
    ),
    fuzz(t, "messages on the WebSocket", 100),
  );
  await waitFor(() => server.endpoint.connected().length === 1, "the witness alone");
});

t.test("whatever bytes follow the handshake, other clients are served", async (t) => {
  const server = await start(t);
  const witness = await SocketClient.connect(t, server);
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), async (bytes) => {
      const client = await SocketClient.open(t, server);
      Reflect.get(client.socket, "_socket").write(Buffer.from(bytes));
      await witness.request("ping", {});
      client.socket.terminate();
    }),
    fuzz(t, "bytes on the WebSocket", 100),
  );
});
