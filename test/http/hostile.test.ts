import { once } from "node:events";
import { connect, type Socket } from "node:net";
import t, { type Test } from "tap";
import { openStream } from "../support/event-stream.ts";
import { ask, headers, INITIALIZE, initialize, RpcError, sendRaw, startServer } from "../support/server.ts";
import { waitFor } from "../support/wait.ts";

const KIB = 1024;

/** Returns the bytes of a request. */
function rawRequest(port: number, body: string, extra: Record<string, string> = {}): string {
  const given = { ...headers(port), "Content-Length": String(Buffer.byteLength(body)), ...extra };
  const lines = Object.entries(given).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /mcp HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

/** Returns the status and the code of the JSON-RPC error of a raw answer. */
function parse(t: Test, answer: string): [status: number, code: number] {
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  t.notMatch(answer, /\.(ts|js|cjs):|node_modules|\/src\//, "neither a stack trace nor a path");
  return [Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]), RpcError.parse(JSON.parse(body)).error.code];
}

t.test("an invalid request is answered with the right status and a JSON-RPC error", async (t) => {
  const { port } = await startServer(t, { bodyLimit: 64 * KIB });
  const session = await initialize(port);
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
  const known = { "mcp-session-id": session };
  const cases: [name: string, body: string, headers: Record<string, string>, status: number][] = [
    ["no JSON", "{", known, 400],
    ["an empty body", "", known, 400],
    ["JSON that is no message", "{}", known, 400],
    ["a string", '"x"', known, 400],
    ["null", "null", known, 400],
    ["an empty batch", "[]", known, 400],
    ["a batch of nonsense", "[1, null]", known, 400],
    ["a prototype to poison", '{"__proto__":{"x":1}}', known, 400],
    ["half a character", "\ud800", known, 400],
    ["great depth", `${"[".repeat(30_000)}${"]".repeat(30_000)}`, known, 400],
    ["great depth in a message", deep(10_000), known, 400],
    ["too much", JSON.stringify({ ...list, params: { x: "x".repeat(70 * KIB) } }), known, 413],
    ["another type", JSON.stringify(list), { ...known, "content-type": "text/plain" }, 415],
    ["another type that names ours", "{}", { ...known, "content-type": "text/x; a=application/json" }, 415],
    ["a form", "a=b", { ...known, "content-type": "application/x-www-form-urlencoded" }, 415],
    ["nothing acceptable", JSON.stringify(list), { ...known, accept: "text/html" }, 406],
    ["an unknown version", JSON.stringify(list), { ...known, "mcp-protocol-version": "1999-01-01" }, 400],
    ["no session", JSON.stringify(list), {}, 400],
    ["an unknown session", JSON.stringify(list), { "mcp-session-id": "unknown" }, 404],
    ["an empty session", JSON.stringify(list), { "mcp-session-id": "" }, 404],
    ["a second start", INITIALIZE, known, 400],
    ["a start in a batch", `[${INITIALIZE},${INITIALIZE}]`, {}, 400],
  ];
  for (const [name, body, extra, status] of cases) {
    const answer = await ask(port, { body, headers: extra });
    t.equal(answer.status, status, name);
    RpcError.parse(JSON.parse(answer.body));
    t.notMatch(answer.body, /\.(ts|js|cjs):|node_modules|\/src\/| at /, "neither a stack trace nor a path");
  }
  for (const method of ["GET", "DELETE"]) {
    t.equal((await ask(port, { method })).status, 400, `${method} without a session`);
    t.equal((await ask(port, { method, headers: { "mcp-session-id": "unknown" } })).status, 404);
  }
  t.equal((await ask(port, { method: "GET", headers: { ...known, accept: "text/html" } })).status, 406);
  const answer = await ask(port, { body: JSON.stringify(list), headers: known });
  t.equal(answer.status, 200, "and the session still serves");
  t.match(answer.body, "openDiff");
});

t.test(
  "a body over the limit is refused with or without a declared length, and the client can read the reason",
  async (t) => {
    const { port } = await startServer(t, { bodyLimit: 256 * KIB });
    const session = await initialize(port);
    const body = Buffer.alloc(8 * KIB * KIB, "x");
    for (const chunked of [false, true]) {
      const answer = await fetch(`http://127.0.0.1:${port}/mcp`, {
        method: "POST",
        headers: { ...headers(port, session) },
        body: chunked ? new Blob([body]).stream() : body,
        duplex: "half",
      });
      t.equal(answer.status, 413);
      RpcError.parse(await answer.json());
    }
  },
);

t.test("data that is not HTTP is answered, and the connection is closed", async (t) => {
  const { port } = await startServer(t);
  const get = (lines: string) => `GET /mcp HTTP/1.1\r\n${lines}\r\n\r\n`;
  const cases: [name: string, bytes: string | Buffer, status: number][] = [
    ["no request line", "hello\r\n\r\n", 400],
    ["zero bytes", Buffer.alloc(1000), 400],
    ["a TLS greeting", Buffer.from("16030100a5010000a10303", "hex"), 400],
    ["an HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
    ["a bad header", get("Host: x\r\nbad header: \u0001\u0000"), 400],
    ["two lengths", `POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n`, 400],
    ["a length and chunks", rawRequest(port, "{}", { "Transfer-Encoding": "chunked" }), 400],
    [
      "bad chunks",
      `${rawRequest(port, "", { "Transfer-Encoding": "chunked" }).replace(/Content-Length.*\r\n/, "")}zz\r\n`,
      400,
    ],
    ["too many headers", get(`Host: x\r\nX: ${"x".repeat(40 * KIB)}`), 431],
  ];
  for (const [name, bytes, status] of cases) t.equal(parse(t, await sendRaw(port, bytes))[0], status, name);
  t.match(await sendRaw(port, "GET /mcp HTTP/1.0\r\n\r\n"), /^HTTP\/1.1 403 /, "HTTP/1.0 names no host");
  t.match(await sendRaw(port, "GET /mcp HTTP/1.1\r\n\r\n"), /^HTTP\/1.1 400 /, "HTTP/1.1 must");
  t.equal(
    await sendRaw(port, "CONNECT evil.example:80 HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
    "",
    "no proxy",
  );
  t.match(
    await sendRaw(port, get(`Host: evil.example\r\nConnection: Upgrade\r\nUpgrade: websocket`)),
    /^HTTP\/1.1 403 /,
  );
  t.equal((await ask(port, { body: INITIALIZE })).status, 200, "and the server still serves");
});

t.test("invalid data after a running request does not get into its answer", async (t) => {
  const { port } = await startServer(t);
  const session = await initialize(port);
  const answer = await sendRaw(
    port,
    `GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: ${headers(port)["authorization"]}\r\n` +
      `Accept: text/event-stream\r\nMcp-Session-Id: ${session}\r\n\r\nnonsense\r\n\r\n`,
  );
  t.notMatch(answer, "Parse error");
});

t.test("pipelined requests and chunked bodies are served in order", async (t) => {
  const { port } = await startServer(t);
  const session = await initialize(port);
  const extra = { "mcp-session-id": session };
  const message = (id: number) => JSON.stringify({ jsonrpc: "2.0", id, method: "ping" });
  const pipelined = Array.from({ length: 50 }, (_, id) => rawRequest(port, message(id), extra)).join("");
  const answers = await sendRaw(port, pipelined, { until: /"id":49\b/ });
  t.same(
    [...answers.matchAll(/"id":(\d+)/g)].map(([, id]) => Number(id)),
    [...Array(50).keys()],
  );

  const chunks = [...message(99)].map((character) => `1\r\n${character}\r\n`).join("");
  const head = rawRequest(port, "", { ...extra, "Transfer-Encoding": "chunked" }).replace(
    /Content-Length.*\r\n/,
    "",
  );
  t.match(await sendRaw(port, `${head}${chunks}0\r\n\r\n`, { until: /"id":99/ }), /"id":99/);
});

t.test("slow connections are closed in time, but open event streams are not", async (t) => {
  const { port } = await startServer(t, {
    timeouts: { headers: 300, request: 600, idle: 1500, check: 50 },
    keepAlive: 100,
  });
  const session = await initialize(port);
  const stream = await openStream(port, session);
  const started = performance.now();
  const [nothing, head, body, idle] = await Promise.all([
    sendRaw(port, "", { silence: 5000 }),
    sendRaw(port, "POST /mcp HTTP/1.1\r\nHost:", { silence: 5000 }),
    sendRaw(port, rawRequest(port, "{", { "Content-Length": "100", "mcp-session-id": session }), {
      silence: 5000,
    }),
    sendRaw(port, rawRequest(port, '{"jsonrpc":"2.0","method":"x"}', { "mcp-session-id": session }), {
      silence: 5000,
    }),
  ]);
  t.ok(performance.now() - started < 4500);
  t.equal(parse(t, nothing)[0], 408);
  t.equal(parse(t, head)[0], 408);
  t.equal(parse(t, body)[0], 408);
  t.match(idle, /^HTTP\/1.1 202 /);
  t.match(idle, /^Keep-Alive: timeout=1\r$/im, "told to come back long before the connection ends");
  t.equal(idle.match(/keep-alive:/gi)?.length, 1);
  t.notOk(stream.ended());
  t.match(stream.raw(), ": keepalive", "and shows signs of life");
});

t.test("thousands of silent connections leave room for a real connection", async (t) => {
  const { port } = await startServer(t, {
    timeouts: { headers: 5000, request: 6000, idle: 1000, check: 100 },
  });
  const sockets: Socket[] = [];
  for (let i = 0; i < 2000; i++) {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {}).resume();
    sockets.push(socket);
    // Half of these connections have sent a part of a request.
    if (i % 2) socket.write("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n");
    if (i % 500 === 0) await once(socket, "connect");
  }
  t.equal((await ask(port, { body: INITIALIZE })).status, 200);
  t.ok(
    sockets.some((socket) => !socket.closed),
    "while silent connections are open",
  );
  await waitFor(() => sockets.every((socket) => socket.closed), "all to be closed");
});
