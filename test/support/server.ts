/** Starts the plugin's HTTP server without an editor, and sends requests to the server. */
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import type { Test } from "tap";
import { z } from "zod";
import { createLog, type Log } from "../../src/base/log.ts";
import type { Route } from "../../src/http/guard.ts";
import { listen, type Timeouts } from "../../src/http/listen-on-port.ts";
import { createSessions, type SessionEvents, type Sessions } from "../../src/http/sessions.ts";
import { checkFile, type DiffTools, registerTools } from "../../src/review/diff-tools.ts";

export const TOKEN = "the-token-of-this-test";
/** Token of another kind of client of the same server. */
export const OTHER_TOKEN = "the-token-of-another-kind";

export interface ServerOptions {
  maxSessions?: number;
  /** Time for a client to reconnect before its session ends (milliseconds). */
  grace?: number;
  keepAlive?: number;
  bodyLimit?: number;
  timeouts?: Timeouts;
  log?: Log;
  /** Routes in addition to the route for sessions. */
  routes?: readonly Route[];
  /** Registers tools instead of the plugin's tools. */
  register?: (...event: SessionEvents["created"]) => void;
}

export interface Server {
  port: number;
  sessions: Sessions;
  /** Events of sessions, in the form `<event> <session id>`. */
  calls: string[];
  /** Returns the number of open connections. */
  connections(): Promise<number>;
  close(): Promise<void>;
}

/** Starts the HTTP server with sessions and tools on a free port, without an editor. */
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

/** Registers the bridge's tools. Proposals are stored, not shown. */
function registerOurs(log: Log) {
  const diffs = new Map<string, string>();
  const tools: DiffTools = {
    async openDiff({ filePath, newContent }) {
      await checkFile(filePath);
      diffs.set(filePath, newContent);
    },
    closeDiff: async (filePath) => diffs.get(filePath) ?? "",
    dismiss: async (filePath) => void diffs.delete(filePath),
  };
  return (...[server]: SessionEvents["created"]) => registerTools(server, tools, log);
}

/** Returns the headers of a well-behaved client. */
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

/** Sends one request on a new connection. */
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

interface RawOptions {
  until?: RegExp;
  silence?: number;
  end?: boolean;
}

/**
 * Sends raw bytes.
 * @param options `until`: waits until the answer matches. `silence`: time without an answer that ends the wait
 * (milliseconds). `end`: whether to close the sending side
 * @returns the answer until it matches, or until the server closes the connection or stops sending
 */
export function sendRaw(
  port: number,
  bytes: string | Buffer,
  { until, silence = until ? 30_000 : 1_500, end = false }: RawOptions = {},
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
      if (until?.test(answer)) done();
    });
    socket.on("error", done);
    socket.on("close", done);
  });
}

/** The body of each error answer: JSON-RPC without the id of a request. */
export const RpcError = z.strictObject({
  jsonrpc: z.literal("2.0"),
  error: z.object({ code: z.int(), message: z.string(), data: z.string().optional() }),
  id: z.null(),
});

/**
 * Returns the first message of a client.
 * @param params values that replace the usual ones
 */
export const initializeWith = (params: object): string =>
  JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "a test", version: "1" },
      ...params,
    },
  });

export const INITIALIZE = initializeWith({});

/**
 * Starts a session as a client does.
 * @returns the id of the session
 */
export async function initialize(port: number, extra: Record<string, string> = {}): Promise<string> {
  const answer = await ask(port, { body: INITIALIZE, headers: extra });
  const id = answer.headers["mcp-session-id"];
  if (typeof id !== "string") throw new Error(`no session: ${answer.status} ${answer.body}`);
  const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });
  await ask(port, { body, headers: { ...extra, "mcp-session-id": id } });
  return id;
}
