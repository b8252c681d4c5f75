import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import type { Test } from "tap";
import { z } from "zod";
import { createLog, type Log } from "../../src/base/log.ts";
import type { Route } from "../../src/http/guard.ts";
import { listen, type Timeouts } from "../../src/http/listen.ts";
import { createSessions, type SessionEvents, type Sessions } from "../../src/http/sessions.ts";
import { type DiffTools, registerTools } from "../../src/review/tools.ts";

export const TOKEN = "the-token-of-this-test";
/** Opens the same server, for a client that is known by another name. */
export const OTHER_TOKEN = "the-token-of-another-kind";

export interface ServerOptions {
  maxSessions?: number;
  /** Milliseconds. */
  grace?: number;
  keepAlive?: number;
  bodyLimit?: number;
  timeouts?: Timeouts;
  log?: Log;
  /** Beside the sessions' own. */
  routes?: readonly Route[];
  /** Registers other tools than ours. */
  register?: (...event: SessionEvents["created"]) => void;
}

export interface Server {
  port: number;
  sessions: Sessions;
  /** What has happened to sessions: `<event> <session id>`. */
  calls: string[];
  /** How many connections are open. */
  connections(): Promise<number>;
  close(): Promise<void>;
}

/** Our HTTP and session layer with its tools, on a port of its own, without an editor behind it. */
export async function startServer(t: Test, options: ServerOptions = {}): Promise<Server> {
  const calls: string[] = [];
  const { log = createLog(), register = registerOurs(log) } = options;
  const sessions = createSessions({
    version: "0",
    log,
    maxSessions: options.maxSessions ?? 256,
    grace: options.grace ?? 30_000,
    ...(options.keepAlive === undefined ? {} : { keepAlive: options.keepAlive }),
  });
  sessions.events.on("created", register);
  sessions.events.on("changed", () => void calls.push("changed"));
  for (const event of ["connected", "disconnected", "ended"] as const)
    sessions.events.on(event, ({ id }) => void calls.push(`${event} ${id}`));
  const tokens = { test: TOKEN, other: OTHER_TOKEN };
  const { port, server, serve, close } = await listen({
    names: Object.keys(tokens),
    before: { tokens },
    log,
    ...(options.timeouts ? { timeouts: options.timeouts } : {}),
  });
  t.teardown(close);
  await serve([sessions.route("/mcp"), ...(options.routes ?? [])], options.bodyLimit ?? 64 * 1024 * 1024);
  const connections = () =>
    new Promise<number>((resolve, reject) =>
      server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
    );
  return { port, sessions, calls, connections, close };
}

/** The bridge's own tools, which keep proposals as they came. */
function registerOurs(log: Log) {
  const diffs = new Map<string, string>();
  const tools: DiffTools = {
    openDiff: async ({ filePath, newContent }) => void diffs.set(filePath, newContent),
    closeDiff: async (filePath) => diffs.get(filePath) ?? "",
  };
  return (...[server]: SessionEvents["created"]) => registerTools(server, tools, log);
}

/** The headers that a well-behaved client sends. */
export function headers(port: number, session?: string): Record<string, string> {
  return {
    host: `127.0.0.1:${port}`,
    authorization: `Bearer ${TOKEN}`,
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
    ...(session === undefined ? {} : { "mcp-session-id": session }),
  };
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Request {
  method?: string;
  path?: string;
  headers?: Readonly<Record<string, string | undefined>>;
  body?: string | Buffer | undefined;
}

/** One request on a connection of its own. */
export function ask(
  port: number,
  { method = "POST", path = "/mcp", body, ...rest }: Request,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const given = Object.entries({ ...headers(port), ...rest.headers });
    const request = httpRequest({
      port,
      host: "127.0.0.1",
      method,
      path,
      agent: false,
      headers: Object.fromEntries(given.filter((entry): entry is [string, string] => entry[1] !== undefined)),
    });
    request.on("error", reject);
    request.on("response", async (response) => {
      const { statusCode: status = 0, headers } = response;
      resolve({ status, headers, body: await text(response) });
    });
    request.end(body);
  });
}

/** Sends bytes as they are, and answers all that comes back until the server closes, or falls silent. */
export function sendRaw(
  port: number,
  bytes: string | Buffer,
  { silence = 1500, end = false } = {},
): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1", () => (end ? socket.end(bytes) : socket.write(bytes)));
    const done = () => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(silence, done);
    socket.on("data", (data) => {
      answer += data;
    });
    socket.on("error", done);
    socket.on("close", done);
  });
}

/** The body of every error: JSON-RPC that answers no particular request. */
export const RpcError = z.strictObject({
  jsonrpc: z.literal("2.0"),
  error: z.object({ code: z.int(), message: z.string(), data: z.string().optional() }),
  id: z.null(),
});

export const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "a test", version: "1" },
  },
});

/** Begins a session as a client does. @returns its id. */
export async function initialize(port: number, extra: Record<string, string> = {}): Promise<string> {
  const answer = await ask(port, { body: INITIALIZE, headers: extra });
  const id = answer.headers["mcp-session-id"];
  if (typeof id !== "string") throw new Error(`no session: ${answer.status} ${answer.body}`);
  const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });
  await ask(port, { body, headers: { ...extra, "mcp-session-id": id } });
  return id;
}
