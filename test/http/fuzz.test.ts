/**
 * Tests that the server answers any input in a valid form or closes the connection, and then serves the next request.
 */
import fc from "fast-check";
import t, { type Test } from "tap";
import { anyString, fuzz } from "../support/fuzz.ts";
import {
  type Answer,
  ask,
  headers,
  INITIALIZE,
  initialize,
  RpcError,
  type Server,
  sendRaw,
  startServer,
} from "../support/server.ts";

/** Texts that no answer may contain. */
const LEAKS = /node_modules|\/src\/|\.ts:\d|\.js:\d|\n\s+at |the-token/;

/** Fails if the form of an answer does not match the answer's status. */
function checkForm({ status, headers, body }: Answer): void {
  if (LEAKS.test(body)) throw new Error(`leaks: ${body}`);
  if (status >= 500 && status !== 503) throw new Error(`status ${status}: ${body}`);
  if (status === 202) {
    if (body !== "") throw new Error(`a body: ${body}`);
  } else if (status >= 400) RpcError.parse(JSON.parse(body));
  else if (!/^(text\/event-stream|application\/json)/.test(headers["content-type"] ?? ""))
    throw new Error(`status ${status} of type ${headers["content-type"]}`);
}

/** Starts a small server with a short timeout. `session` must survive all inputs. */
async function start(t: Test): Promise<Server & { session: string; serves: () => Promise<void> }> {
  const server = await startServer(t, {
    grace: 60_000,
    bodyLimit: 100_000,
    maxSessions: 20,
    timeouts: { headers: 200, request: 400, idle: 200, check: 50 },
  });
  const session = await initialize(server.port);
  const serves = async () => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: "alive", method: "ping" });
    const answer = await ask(server.port, { body, headers: { "mcp-session-id": session } });
    if (answer.status !== 200 || !answer.body.includes("alive"))
      throw new Error(`not alive: ${answer.status}`);
  };
  return { ...server, session, serves };
}

const name = fc.constantFrom(
  ..."Host Authorization Content-Type Content-Length Transfer-Encoding Accept Connection Expect Origin".split(
    " ",
  ),
  ..."Mcp-Session-Id Mcp-Protocol-Version Last-Event-ID Upgrade Cookie X".split(" "),
);

/** Generates bytes that partly look like a request. */
const rawRequest = (port: number) => {
  const value = fc.oneof(
    fc.constantFrom(
      ...Object.values(headers(port)),
      "chunked",
      "close",
      "keep-alive",
      "100-continue",
      "-1",
      "5",
      "0",
    ),
    anyString({ maxLength: 30 }),
  );
  const line = fc.oneof(
    fc.tuple(name, value).map(([name, value]) => `${name}: ${value}`),
    anyString({ maxLength: 30 }),
  );
  const start = fc.oneof(
    fc
      .tuple(
        fc.constantFrom("GET", "POST", "DELETE", "OPTIONS", "CONNECT", "post", "", "\0"),
        fc.oneof(
          fc.constantFrom("/mcp", "/", "*", "http://127.0.0.1/mcp", "/mcp?", "//mcp", "/%"),
          fc.webPath(),
        ),
        fc.constantFrom("HTTP/1.1", "HTTP/1.0", "HTTP/2", "HTTP/9.9", ""),
      )
      .map((parts) => parts.join(" ")),
    anyString({ maxLength: 60 }),
  );
  const known = fc.constantFrom(
    Object.entries(headers(port)).map(([name, value]) => `${name}: ${value}`),
    [],
  );
  const body = fc.oneof(fc.constantFrom("", INITIALIZE, "{}", "5\r\nhello\r\n0\r\n\r\n"), anyString());
  return fc
    .tuple(start, known, fc.array(line, { maxLength: 5 }), fc.constantFrom("\r\n", "\n", "\r"), body)
    .map(([start, known, lines, end, body]) => [start, ...known, ...lines, "", body].join(end));
};

t.test("the server answers any raw request without crashing", { timeout: 3_600_000 }, async (t) => {
  const { port, serves, sessions } = await start(t);
  const property = fc.asyncProperty(
    fc.array(rawRequest(port), { minLength: 1, maxLength: 3 }),
    async (requests) => {
      const answer = await sendRaw(port, Buffer.from(requests.join(""), "latin1"), {
        silence: 60,
        end: true,
      });
      if (LEAKS.test(answer)) throw new Error(`leaks: ${answer}`);
      if (answer !== "" && !/^HTTP\/1\.1 [1-5]\d\d /.test(answer)) throw new Error(`no HTTP: ${answer}`);
      if (/^HTTP\/1\.1 50[0-24-9]/m.test(answer)) throw new Error(answer);
      if (sessions.all().length > 15) for (const { id } of sessions.all().slice(1)) await end(port, id);
    },
  );
  await fc.assert(property, { ...fuzz(t, "raw requests", 100), interruptAfterTimeLimit: 3_000_000 });
  await serves();
});

const end = (port: number, id: string) => ask(port, { method: "DELETE", headers: { "mcp-session-id": id } });

const methods = [
  ..."initialize ping tools/list tools/call resources/list prompts/get logging/setLevel".split(" "),
  ..."notifications/initialized notifications/cancelled notifications/progress completion/complete".split(
    " ",
  ),
];

/** Generates JSON that partly looks like a message. */
const message = fc.oneof(
  { weight: 6, arbitrary: rpcMessage() },
  { weight: 1, arbitrary: fc.jsonValue() },
  { weight: 1, arbitrary: fc.array(rpcMessage(), { maxLength: 5 }) },
);

function rpcMessage() {
  const id = fc.oneof(fc.integer(), fc.string(), fc.constantFrom(null, 1.5, {}, []));
  const tool = fc.constantFrom("openDiff", "closeDiff", "none", "__proto__", "constructor");
  const params = fc.oneof(
    fc.record(
      { name: tool, arguments: fc.jsonValue(), _meta: fc.jsonValue(), protocolVersion: fc.string() },
      { requiredKeys: [] },
    ),
    fc.record({ requestId: id, reason: fc.string() }),
    fc.jsonValue(),
  );
  const method = fc.oneof(fc.constantFrom(...methods), fc.string());
  return fc.record(
    { jsonrpc: fc.constantFrom("2.0", "2.0", "2.0", "1.0", 2), id, method, params, result: fc.jsonValue() },
    { requiredKeys: ["jsonrpc"] },
  );
}

t.test(
  "the server answers any JSON-RPC message in the form that MCP requires",
  { timeout: 3_600_000 },
  async (t) => {
    const { port, session, serves, sessions } = await start(t);
    const extra = fc.record(
      {
        "mcp-session-id": fc.constantFrom(session, session, session, "unknown", ""),
        "mcp-protocol-version": fc.constantFrom("2025-06-18", "2025-11-25", "0"),
      },
      { requiredKeys: [] },
    );
    const property = fc.asyncProperty(message, extra, async (body, headers) => {
      const answer = await Promise.race([
        ask(port, { body: JSON.stringify(body), headers }),
        new Promise<"silent">((resolve) => setTimeout(resolve, 1_000, "silent")),
      ]);
      // JSON-RPC requires no answer to a request that was cancelled in the same batch.
      if (answer === "silent") {
        if (!JSON.stringify(body).includes("cancelled")) throw new Error("no answer");
      } else checkForm(answer);
      if (sessions.all().length > 15)
        for (const { id } of sessions.all()) if (id !== session) await end(port, id);
    });
    await fc.assert(property, fuzz(t, "JSON-RPC messages", 300));
    await serves();
  },
);

t.test("the server answers any arguments of a tool", { timeout: 3_600_000 }, async (t) => {
  const { port, session, serves } = await start(t);
  const text = fc.oneof(anyString(), fc.string({ unit: "grapheme" }), fc.jsonValue());
  const path = fc.oneof(
    text,
    fc.string({ unit: "grapheme" }).map((tail) => `/${tail}`),
    fc.constantFrom(
      "/",
      "/tmp",
      "/dev/zero",
      "/dev/tty",
      "/proc/self/mem",
      "/etc/shadow",
      "/a\0b",
      "~/x",
      "C:\\x",
    ),
    fc.string({ maxLength: 3 }).map((part) => `/${part.repeat(2_000)}`),
  );
  const args = fc.record(
    { filePath: path, newContent: text, suppressNotification: fc.jsonValue(), more: text },
    { requiredKeys: [] },
  );
  const property = fc.asyncProperty(fc.constantFrom("openDiff", "closeDiff"), args, async (name, args) => {
    const params = { name, arguments: args };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params });
    const answer = await ask(port, { body, headers: { "mcp-session-id": session } });
    checkForm(answer);
    // The server refuses a body with keys that would change the prototype of an object.
    if (answer.status === 400 && /"(__proto__|constructor)"/.test(body)) return;
    if (answer.status !== 200) throw new Error(`status ${answer.status}`);
    if (!/"id":7/.test(answer.body)) throw new Error(answer.body);
  });
  await fc.assert(property, fuzz(t, "tool arguments", 200));
  await serves();
});
