/** Tests that silent peers and peers without a token cannot keep connections open. */
import { connect, type Socket } from "node:net";
import t, { type Test } from "tap";
import { CLOSE_DELAY_MS } from "../../src/http/errors.ts";
import { TIMEOUTS as DEFAULTS } from "../../src/http/listen-on-port.ts";
import { headers, startServer } from "../support/server.ts";
import { waitFor } from "../support/wait.ts";

/** Connects peers that send the given bytes, and then neither read nor close the connection. */
async function connectPeers(t: Test, port: number, count: number, bytes = ""): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    socket.on("error", () => {}).resume();
    socket.write(bytes);
    return socket;
  });
  t.teardown(() => sockets.map((socket) => socket.destroy()));
  await waitFor(() => sockets.every((socket) => !socket.connecting), "the connections");
  return sockets;
}

const TIMEOUTS = { headers: 300, request: 60_000, idle: 300, check: 100 };

t.test("silent peers that ignore the end of a connection hold no file descriptors", async (t) => {
  const { port, connections } = await startServer(t, { timeouts: TIMEOUTS });
  await connectPeers(t, port, 300);
  await waitFor(async () => (await connections()) > 100, "the server to have them");
  await waitFor(async () => (await connections()) === 0, "them to be cut off");
});

t.test("peers without a token that keep sending a body hold no file descriptors", async (t) => {
  const { port, connections } = await startServer(t, { timeouts: TIMEOUTS });
  const given = { ...headers(port), authorization: "Bearer guessed", "content-length": "1000000" };
  const lines = Object.entries(given).map(([name, value]) => `${name}: ${value}\r\n`);
  const sockets = await connectPeers(t, port, 50, `POST /mcp HTTP/1.1\r\n${lines.join("")}\r\n{`);
  const sending = setInterval(() => sockets.map((socket) => socket.write(" ")), 50);
  t.teardown(() => clearInterval(sending));
  await waitFor(async () => (await connections()) > 0, "the server to have them");
  await waitFor(async () => (await connections()) === 0, "them to be cut off");
});

t.test("a silent connection is closed within ten seconds, as SECURITY.md says", (t) => {
  const { headers, idle, check } = DEFAULTS;
  t.ok(Math.max(headers + check, idle) + CLOSE_DELAY_MS <= 10_000, "the time that the first test waits for");
  t.end();
});
