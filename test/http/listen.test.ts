import { once } from "node:events";
import { connect } from "node:net";
import t, { type Test } from "tap";
import { createLog } from "../../src/base/log.ts";
import { listen } from "../../src/http/listen-on-port.ts";
import { createSessions } from "../../src/http/sessions.ts";
import { ask, headers, INITIALIZE, sendRaw, TOKEN } from "../support/server.ts";

const BODY_LIMIT = 1_000_000;

/** Starts an endpoint whose requests have to wait. Returns the endpoint and its routes. */
async function listening(t: Test) {
  const log = createLog();
  const endpoint = await listen({ names: ["test"], before: { tokens: { test: TOKEN } }, log });
  t.teardown(endpoint.close);
  const sessions = createSessions({ version: "0", log, maxSessions: 8, grace: 30_000 });
  /** Resolves when the given number of requests wait. */
  const asked = (count: number) =>
    new Promise<void>((resolve) => {
      let seen = 0;
      endpoint.server.on("request", () => {
        seen += 1;
        if (seen === count) resolve();
      });
    });
  return { endpoint, asked, routes: [sessions.route("/mcp")] };
}

/** Returns the bytes of a GET request. The endpoint refuses this request, because the request names no session. */
const get = (port: number, token: string) =>
  `GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`;

t.test(
  "requests that arrive before the application is loaded are answered later, with the same checks",
  async (t) => {
    const { endpoint, asked, routes } = await listening(t);
    const { port } = endpoint;
    const all = asked(6);
    const served = ask(port, { body: INITIALIZE });
    const long = ask(port, { body: JSON.stringify({ text: "x".repeat(BODY_LIMIT) }) });
    const stranger = ask(port, { body: INITIALIZE, headers: { authorization: "Bearer another" } });
    const elsewhere = ask(port, { path: "/", method: "GET" });
    const both = sendRaw(port, get(port, TOKEN), { silence: 10_000 });
    const gone = connect(port, "127.0.0.1", () => gone.write(get(port, TOKEN)));
    await all;
    gone.destroy();
    await endpoint.serve(routes, BODY_LIMIT);
    t.match(await served, { status: 200, headers: { "mcp-session-id": /./ } });
    t.equal((await long).status, 413);
    t.equal((await stranger).status, 401);
    t.equal((await elsewhere).status, 404);
    t.match(await both, /^HTTP\/1\.1 400 /);
    t.equal((await ask(port, { body: INITIALIZE })).status, 200, "and so is what is asked later");
  },
);

t.test("waiting connections are closed with the server", async (t) => {
  const { endpoint, asked } = await listening(t);
  const waits = asked(1);
  const socket = connect(endpoint.port, "127.0.0.1", () => socket.write(get(endpoint.port, TOKEN)));
  await waits;
  socket.on("error", () => {});
  const closed = once(socket, "close");
  await endpoint.close();
  await closed;
  await t.rejects(ask(endpoint.port, { headers: headers(endpoint.port) }), { code: "ECONNREFUSED" });
  await t.resolves(endpoint.close(), "a second time nothing is left to do");
});

t.test("if the old port is taken, the bridge also issues new tokens", async (t) => {
  const { endpoint } = await listening(t);
  const names = ["test", "other"];
  const before = { port: endpoint.port, tokens: endpoint.tokens };
  const second = await listen({ names, before, log: createLog() });
  t.teardown(second.close);
  t.not(second.port, endpoint.port);
  t.not(second.tokens["test"], TOKEN);
  t.equal(new Set(Object.values(second.tokens)).size, names.length);
});
