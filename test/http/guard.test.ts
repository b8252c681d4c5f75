import t from "tap";
import {
  ask,
  headers,
  INITIALIZE,
  initialize,
  OTHER_TOKEN,
  RpcError,
  sendRaw,
  startServer,
} from "../support/server.ts";

t.test("requests need the token and the right Host header, and must not have an Origin header", async (t) => {
  const { port } = await startServer(t);
  const cases: [string, Record<string, string | undefined>, number][] = [
    ["no token", { authorization: undefined }, 401],
    ["an empty token", { authorization: "Bearer " }, 401],
    ["another token", { authorization: "Bearer another" }, 401],
    ["the token and more", { authorization: `${headers(port)["authorization"]}x` }, 401],
    [
      "the token without its last letter",
      { authorization: headers(port)["authorization"]?.slice(0, -1) },
      401,
    ],
    ["another scheme", { authorization: headers(port)["authorization"]?.replace("Bearer", "Basic") }, 401],
    ["a name that was bound anew", { host: `evil.example:${port}` }, 403],
    ["another port", { host: `127.0.0.1:${port + 1}` }, 403],
    ["no port", { host: "127.0.0.1" }, 403],
    ["an address that looks like ours", { host: `127.0.0.1.evil.example:${port}` }, 403],
    ["an origin", { origin: "https://evil.example" }, 403],
    ["an origin of this machine", { origin: `http://127.0.0.1:${port}` }, 403],
    ["the null origin", { origin: "null" }, 403],
    [
      "the scheme in lower case",
      { authorization: headers(port)["authorization"]?.replace("Bearer", "bearer") },
      200,
    ],
    ["localhost", { host: `localhost:${port}` }, 200],
    ["a CLI in a container", { host: `host.docker.internal:${port}` }, 200],
  ];
  for (const [name, changed, status] of cases) {
    for (const method of status === 200 ? ["POST"] : ["POST", "GET", "DELETE", "OPTIONS", "PUT"]) {
      const body = method === "POST" ? INITIALIZE : undefined;
      const answer = await ask(port, { method, headers: changed, body });
      t.equal(answer.status, status, `${method} with ${name}`);
      if (status !== 200) RpcError.parse(JSON.parse(answer.body));
      const cors = Object.keys(answer.headers).filter((header) => header.startsWith("access-control-"));
      t.same(cors, [], "no CORS headers");
      t.notMatch(answer.body, "the-token");
    }
  }
});

t.test("requests are refused before their body has arrived", async (t) => {
  const { port, sessions } = await startServer(t);
  const head = (token: string, host: string, path = "/mcp") =>
    `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${token}\r\n` +
    "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n";
  const token = headers(port)["authorization"] ?? "";
  t.match(
    await sendRaw(port, head("Bearer no", `127.0.0.1:${port}`), { until: /\r\n\r\n/ }),
    /^HTTP\/1.1 401 /,
  );
  t.match(await sendRaw(port, head(token, "evil.example"), { until: /\r\n\r\n/ }), /^HTTP\/1.1 403 /);
  t.match(
    await sendRaw(port, head(token, `127.0.0.1:${port}`, "/other"), { until: /\r\n\r\n/ }),
    /^HTTP\/1.1 404 /,
  );
  t.equal(
    await sendRaw(port, head(token, `127.0.0.1:${port}`), { silence: 300 }),
    "",
    "a body is waited for",
  );
  t.same(sessions.all(), []);
});

t.test("only the path /mcp is served, with three methods", async (t) => {
  const { port } = await startServer(t);
  const session = await initialize(port);
  for (const path of ["/", "/mcp/", "/MCP", "/other", "/mcp/..", "/..%2f..%2fetc/passwd", "/%ff", "*"]) {
    for (const method of ["GET", "POST", "PROPFIND"]) {
      const answer = await ask(port, { path, method, headers: { "mcp-session-id": session } });
      t.equal(answer.status, 404, `${method} ${path}`);
      RpcError.parse(JSON.parse(answer.body));
    }
  }
  for (const method of ["PUT", "PATCH", "OPTIONS", "PROPFIND", "TRACE"]) {
    const answer = await ask(port, { method, body: "{", headers: { "mcp-session-id": session } });
    t.equal(answer.status, 405, method);
    t.equal(answer.headers.allow, "GET, POST, DELETE");
    RpcError.parse(JSON.parse(answer.body));
  }
  t.equal((await ask(port, { method: "HEAD" })).status, 405);
  t.equal((await ask(port, { path: "/mcp?x=1", body: INITIALIZE })).status, 200);
});

t.test("a session accepts only the token that opened it", async (t) => {
  const { port, sessions } = await startServer(t);
  const other = { authorization: `Bearer ${OTHER_TOKEN}` };
  const first = await initialize(port);
  const second = await initialize(port, other);
  t.equal(sessions.get(first)?.info.credential, "test");
  t.equal(sessions.get(second)?.info.credential, "other");
  const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  for (const [session, headers, status] of [
    [first, {}, 200],
    [first, other, 404],
    [second, other, 200],
    [second, {}, 404],
  ] as const) {
    const answer = await ask(port, { body: ping, headers: { ...headers, "mcp-session-id": session } });
    t.equal(answer.status, status);
  }
});
