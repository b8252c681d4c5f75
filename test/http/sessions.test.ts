import t from "tap";
import { openStream } from "../support/event-stream.ts";
import { heldMemory } from "../support/memory.ts";
import { ask, INITIALIZE, initialize, initializeWith, RpcError, startServer } from "../support/server.ts";
import { waitFor } from "../support/wait.ts";

const PING = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });

t.test("a DELETE request ends a session", async (t) => {
  const { port, sessions, calls } = await startServer(t);
  const id = await initialize(port);
  const stream = await openStream(port, id);
  t.same(
    sessions.connected().map((session) => session.info.name),
    ["a test"],
  );
  t.equal((await ask(port, { method: "DELETE", headers: { "mcp-session-id": id } })).status, 200);
  await waitFor(stream.ended, "the stream to end");
  t.same(sessions.all(), []);
  t.ok(calls.includes(`ended ${id}`));
  t.equal((await ask(port, { body: PING, headers: { "mcp-session-id": id } })).status, 404);
});

t.test("a session without a stream ends after the grace time, not earlier", async (t) => {
  const grace = 400;
  const { port, sessions, calls } = await startServer(t, { grace });
  const id = await initialize(port);
  const stream = await openStream(port, id);
  stream.break();
  await waitFor(() => calls.includes(`disconnected ${id}`), "the break to be seen");
  t.same(sessions.connected(), [], "it is not listed any more");
  const again = await openStream(port, id);
  // Longer than the grace time. The open stream keeps the session alive.
  const seen = performance.now();
  await waitFor(() => performance.now() - seen > 2 * grace, "the grace time to pass");
  t.equal((await ask(port, { body: PING, headers: { "mcp-session-id": id } })).status, 200);
  again.break();
  const broken = performance.now();
  await waitFor(() => calls.includes(`ended ${id}`), "the session to be freed");
  t.ok(performance.now() - broken >= grace - 20);
  t.same(sessions.all(), []);
  t.equal((await ask(port, { body: PING, headers: { "mcp-session-id": id } })).status, 404);
});

t.test("a session that never had a stream stays alive while it sends requests", async (t) => {
  const { port, sessions } = await startServer(t, { grace: 300 });
  const id = await initialize(port);
  for (const started = performance.now(); performance.now() - started < 700; ) {
    const answer = await ask(port, { body: PING, headers: { "mcp-session-id": id } });
    if (answer.status !== 200) t.fail(`status ${answer.status}`);
  }
  await waitFor(() => sessions.all().length === 0, "the idle session to be freed");
});

t.test("without a grace time, a client still has time to open its stream", async (t) => {
  const { port, sessions, calls } = await startServer(t, { grace: 0 });
  const id = await initialize(port);
  const begun = performance.now();
  await waitFor(() => performance.now() - begun > 100, "a slow client");
  const stream = await openStream(port, id);
  t.equal(sessions.connected().length, 1);
  stream.break();
  await waitFor(() => calls.includes(`ended ${id}`), "the session to end at once", 500);
});

t.test("a client above the limit is refused until another client has left", async (t) => {
  const { port, sessions } = await startServer(t, { maxSessions: 3 });
  // Sends all requests at the same time, because sessions in initialization count too.
  const answers = await Promise.all(Array.from({ length: 10 }, () => ask(port, { body: INITIALIZE })));
  t.same(answers.map(({ status }) => status).sort(), [200, 200, 200, ...Array(7).fill(503)]);
  const refused = answers.find(({ status }) => status === 503);
  t.match(RpcError.parse(JSON.parse(refused?.body ?? "")).error.message, "Too many sessions: 3");
  t.ok(Number(refused?.headers["retry-after"]) > 0);
  const [first] = sessions.all();
  await ask(port, { method: "DELETE", headers: { "mcp-session-id": first?.id } });
  t.equal((await ask(port, { body: INITIALIZE })).status, 200);
});

t.test(
  "a client that asks for a later protocol version is told immediately that the version is unknown",
  async (t) => {
    const { port, sessions } = await startServer(t);
    const discover = (id: unknown) => JSON.stringify({ jsonrpc: "2.0", id, method: "server/discover" });
    for (const id of [1, "a"]) {
      const { status, body } = await ask(port, { body: discover(id) });
      t.equal(status, 200);
      t.same(JSON.parse(body), { jsonrpc: "2.0", error: { code: -32601, message: "Method not found" }, id });
    }
    for (const id of [undefined, null, {}]) t.equal((await ask(port, { body: discover(id) })).status, 400);
    t.same(sessions.all(), []);
    const session = await initialize(port);
    const later = await ask(port, { body: discover(2), headers: { "mcp-session-id": session } });
    t.match([later.status, later.body], [200, /"code":-32601/]);
  },
);

t.test("a refused `initialize` request leaves no session", async (t) => {
  const { port, sessions } = await startServer(t, { maxSessions: 1 });
  t.equal((await ask(port, { body: INITIALIZE, headers: { accept: "text/html" } })).status, 406);
  t.same(sessions.all(), []);
  t.equal((await ask(port, { body: INITIALIZE })).status, 200, "and takes no place");
});

t.test("the name of a client is shortened to one short line", async (t) => {
  const { port, sessions } = await startServer(t);
  const clientInfo = { name: `a\u0000b\r\n\u202e\u2028${"x".repeat(1000)}`, version: "\u001b[31m1" };
  t.equal((await ask(port, { body: initializeWith({ clientInfo }) })).status, 200);
  const [known] = sessions.all();
  t.match(known?.name, /^a b {4}x+$/);
  t.equal(known?.name.length, 60);
  t.equal(known?.version, " [31m1");
});

t.test("names, ids and paths from a client are limited before they are stored or passed on", async (t) => {
  const { port, sessions } = await startServer(t);
  const begin = (params: object) => ask(port, { body: initializeWith(params) });
  const long = "x".repeat(1_000_000);
  for (const params of [
    { protocolVersion: long },
    { clientInfo: { name: long, version: long } },
    { capabilities: { experimental: { [long]: {} } } },
  ]) {
    const answer = await begin(params);
    t.equal(answer.status, 413);
    RpcError.parse(JSON.parse(answer.body));
  }
  t.same(sessions.all(), []);
  t.equal((await begin({ protocolVersion: "v".repeat(10_000) })).status, 200);
  t.equal(sessions.all()[0]?.protocolVersion.length, 60);

  const headers = { "mcp-session-id": sessions.all()[0]?.id };
  const ping = (id: string) => JSON.stringify({ jsonrpc: "2.0", id, method: "ping" });
  for (const body of [ping(long), `[${ping("1")},${ping(long)}]`])
    t.equal((await ask(port, { body, headers })).status, 400);
  t.equal((await ask(port, { body: ping("x".repeat(256)), headers })).status, 200);

  for (const name of ["openDiff", "closeDiff"]) {
    const params = { name, arguments: { filePath: `/${long}`, newContent: "" } };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const answer = await ask(port, { body, headers });
    t.match(answer.body, /filePath is too long/);
    t.ok(answer.body.length < 1_000, "and is not repeated");
  }
});

t.test("a pending request keeps its session alive", async (t) => {
  let finish = () => {};
  const server = await startServer(t, {
    grace: 300,
    register(server) {
      server.registerTool("slow", {}, async () => {
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        return { content: [{ type: "text", text: "finished" }] };
      });
    },
  });
  const { port, sessions, calls } = server;
  const id = await initialize(port);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "slow" } });
  const asked = ask(port, { body, headers: { "mcp-session-id": id } });
  const begun = performance.now();
  await waitFor(() => performance.now() - begun > 900, "three times the grace time to pass");
  t.equal(sessions.all().length, 1, "the session lives");
  finish();
  const answer = await asked;
  t.match(answer.body, /finished/);
  t.notMatch(answer.body, /^id:/m, "with an id the SDK of clients would open a second event stream after it");
  await waitFor(() => calls.includes(`ended ${id}`), "the session to end when nobody asks any more");
});

t.test("two hundred clients leave no sessions and no memory behind", async (t) => {
  const { port, sessions, calls } = await startServer(t, { grace: 3_000 });
  const measure = () => ({ heap: heldMemory(), handles: process.getActiveResourcesInfo().length });
  let held = 0;
  const params = { name: "openDiff", arguments: { filePath: "/tmp/none", newContent: "x".repeat(10_000) } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params });
  const client = async () => {
    const id = await initialize(port);
    const stream = await openStream(port, id);
    const answer = await ask(port, { body, headers: { "mcp-session-id": id } });
    return { stream, status: answer.status };
  };
  const come = async (clients: number) => {
    for (let done = 0; done < clients; done += 20) {
      const group = await Promise.all(Array.from({ length: 20 }, client));
      held = Math.max(held, sessions.connected().length);
      t.ok(group.every(({ status }) => status === 200));
      for (const { stream } of group) stream.break();
    }
    await waitFor(() => sessions.all().length === 0, "all sessions to be freed");
    calls.length = 0;
  };
  await come(60); // so that caches and pools are full before the measurement
  const before = measure();
  await come(200);
  await waitFor(() => measure().handles <= before.handles + 2, "connections and timers to be gone");
  const after = measure();
  t.ok(held >= 20);
  t.ok(after.heap - before.heap < 4e6, `the heap grew by ${after.heap - before.heap} bytes`);
});
