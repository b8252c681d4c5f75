/** One McpServer and one transport for each connected CLI. */
import { randomUUID } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { isInitializeRequest, type JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { IdeNotifications } from "../ide/wire.ts";
import { rpcError } from "./errors.ts";
import { RingEventStore } from "./event-store.ts";

/** The CLI's HTTP client drops a stream that is silent for 300 s (milliseconds). */
const KEEP_ALIVE = 60_000;

/** A session whose stream is closed, or was never opened, is freed after this long (milliseconds). */
const GRACE = 30_000;

export interface Session {
  readonly id: string;
  /** Unix milliseconds. */
  readonly connectedAt: number;
  /** How the CLI names itself. */
  client(): { name: string; version: string };
  /** Sends a notification on the event stream; an outcome waits for the stream to come back, a context does not. */
  notify<M extends keyof IdeNotifications>(method: M, params: IdeNotifications[M]): void;
}

export interface SessionHooks {
  /** Registers what the server offers to this session. */
  register(server: McpServer, session: Session): void;
  /** The event stream is open: what is sent now arrives. */
  opened(session: Session): void;
  /** The event stream closed; it may come back. */
  dropped(session: Session): void;
  /** The session is gone for good. */
  closed(session: Session): void;
}

export interface Sessions {
  handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
  /** Sessions with an open event stream. */
  open(): Session[];
  get(id: string): Session | undefined;
  /** Ends every session. May run twice. */
  close(): Promise<void>;
}

interface Connection extends Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly store: RingEventStore;
  /** Outcomes that came while no stream was open. */
  readonly held: JSONRPCMessage[];
  stream: FastifyReply["raw"] | undefined;
  expiry: NodeJS.Timeout | undefined;
}

export function createSessions(version: string, hooks: SessionHooks): Sessions {
  const connections = new Map<string, Connection>();

  async function connect(): Promise<Connection> {
    const id = randomUUID();
    const store = new RingEventStore();
    const server = new McpServer({ name: "gemini-bridge.nvim", version }, { capabilities: { tools: {} } });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessioninitialized: () => void connections.set(id, connection),
      eventStore: store,
      keepAliveMs: KEEP_ALIVE,
    });
    const connection: Connection = {
      id,
      connectedAt: Date.now(),
      transport,
      store,
      held: [],
      stream: undefined,
      expiry: undefined,
      client: () => server.server.getClientVersion() ?? { name: "unknown", version: "" },
      notify(method, params) {
        const message = { jsonrpc: "2.0" as const, method, params: { ...params } };
        if (connection.stream) void transport.send(message);
        else if (method !== "ide/contextUpdate") connection.held.push(message);
      },
    };
    server.server.onclose = () => {
      clearTimeout(connection.expiry);
      if (connections.delete(id)) hooks.closed(connection);
    };
    hooks.register(server, connection);
    await server.connect(transport);
    touch(connection);
    return connection;
  }

  /** Without an open stream a session lives for a while after its last request. */
  function touch(connection: Connection): void {
    clearTimeout(connection.expiry);
    connection.expiry = connection.stream
      ? undefined
      : setTimeout(() => void connection.transport.close(), GRACE);
    connection.expiry?.unref();
  }

  async function openStream(
    connection: Connection,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const lastEventId = request.headers["last-event-id"];
    const resumed =
      typeof lastEventId === "string" ? await connection.store.getStreamIdForEventId(lastEventId) : undefined;
    // An id that is not in the store any more cannot be resumed from: a new stream is the best there is.
    if (resumed === undefined) delete request.headers["last-event-id"];
    // The SDK answers 409 to a second stream, which the CLI counts as an error; the newer one is the one that is read.
    connection.transport.closeStandaloneSSEStream();
    const response = await connection.transport.handleRequest(webRequest(request));
    if (response.status !== 200) return reply.send(response);
    const stream = reply.raw;
    connection.stream = stream;
    touch(connection);
    stream.once("close", () => {
      if (connection.stream !== stream) return;
      connection.stream = undefined;
      if (!connections.has(connection.id)) return;
      touch(connection);
      hooks.dropped(connection);
    });
    reply.send(response);
    // The headers of a stream without data would wait for its first event.
    stream.flushHeaders();
    for (const message of connection.held.splice(0)) void connection.transport.send(message);
    hooks.opened(connection);
    return reply;
  }

  async function find(
    request: FastifyRequest,
  ): Promise<Connection | [status: number, code: number, message: string]> {
    const id = request.headers["mcp-session-id"];
    if (typeof id === "string") return connections.get(id) ?? [404, -32001, "Session not found"];
    if (request.method === "POST" && isInitializeRequest(request.body)) return connect();
    return [400, -32000, "Bad Request: Mcp-Session-Id header is required"];
  }

  return {
    async handle(request, reply) {
      const connection = await find(request);
      if (Array.isArray(connection)) {
        const [status, code, message] = connection;
        return reply.code(status).send(rpcError(code, message));
      }
      if (request.method === "GET") return openStream(connection, request, reply);
      touch(connection);
      return reply.send(
        await connection.transport.handleRequest(webRequest(request), { parsedBody: request.body }),
      );
    },
    open: () => [...connections.values()].filter((connection) => connection.stream),
    get: (id) => connections.get(id),
    async close() {
      await Promise.all([...connections.values()].map((connection) => connection.transport.close()));
    },
  };
}

/** The request as the transport wants it; Fastify has read the body. */
function webRequest(request: FastifyRequest): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  return new Request(`http://127.0.0.1${request.url}`, { method: request.method, headers });
}
