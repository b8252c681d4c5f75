/** One connected CLI: its McpServer and transport, its event stream, and when it counts as gone. */
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/sdk/types.js";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Log } from "../base/log.ts";
import { BoundedEventStore, STANDALONE_STREAM } from "./event-store.ts";
import { createEventStream, type EventStream, onceClosed } from "./event-stream.ts";

/** What a later host needs in order to go on with a session. */
export interface SessionInfo {
  readonly id: string;
  /** The name of the token that opened it. */
  readonly credential: string;
  /** Unix milliseconds. */
  readonly connectedAt: number;
  /** How the CLI names itself. */
  readonly name: string;
  readonly version: string;
  readonly protocolVersion: string;
}

export interface Session extends Pick<EventStream, "isConnected" | "notify" | "deliver"> {
  readonly id: string;
  readonly info: SessionInfo;
  /** The ports at both ends of the event stream that was opened last. */
  readonly ports: { own: number; client: number } | undefined;
}

export interface Connection extends Session {
  /** Answers a request of this session's client, which Fastify has read. */
  handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
  /** Takes the first message, for a client that has sent it to a host before this one. */
  initialize(): Promise<void>;
  /** Ends the session. May run twice. */
  close(): Promise<void>;
}

export interface ConnectionOptions {
  info: SessionInfo;
  server: McpServer;
  log: Log;
  /** Registers what the server offers; it cannot be told later. */
  register(session: Session): void;
  /** Milliseconds between two signs of life on a silent stream. */
  keepAlive: number;
  /** Without an open stream the session ends this long after its last request (milliseconds). */
  grace: number;
  /** The client's first message was accepted. */
  initialized(): void;
  /** The event stream is open: what is sent now arrives. */
  connected(): void;
  /** The event stream closed; it may come back. */
  disconnected(): void;
  ended(): void;
}

export async function createConnection(options: ConnectionOptions): Promise<Connection> {
  const { info, server, grace, log } = options;
  const store = new BoundedEventStore();
  let expiry: NodeJS.Timeout | undefined;
  let ports: Session["ports"];
  /** Whose answers have not ended. */
  let requests = 0;
  let ended = false;

  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => info.id,
    onsessioninitialized: options.initialized,
    eventStore: store,
    keepAliveMs: options.keepAlive,
  });
  // Behind the colon there may be what the client has sent.
  server.server.onerror = ({ message }) =>
    log.debug(`session ${info.id.slice(0, 8)}: ${message.split(":", 1)[0]}`);
  server.server.onclose = () => {
    if (ended) return;
    ended = true;
    clearTimeout(expiry);
    stream.close();
    options.ended();
  };
  const stream = createEventStream({
    store,
    keepAlive: options.keepAlive,
    disconnected() {
      touch();
      options.disconnected();
    },
  });
  /** Starts the time after which a session that shows no life ends. */
  function touch(): void {
    clearTimeout(expiry);
    if (stream.isConnected || requests > 0 || ended) return;
    expiry = setTimeout(() => void transport.close(), grace);
    expiry.unref();
  }

  /** The SDK answers. As long as it does, the session lives: an answer may be a stream, also one that is resumed. */
  async function answer(request: FastifyRequest, reply: FastifyReply, body?: unknown): Promise<FastifyReply> {
    requests += 1;
    touch();
    onceClosed(reply.raw, () => {
      requests -= 1;
      touch();
    });
    return reply.send(await transport.handleRequest(webRequest(request), { parsedBody: body }));
  }

  async function openStream(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const last = request.headers["last-event-id"];
    const lastId = typeof last === "string" ? last : undefined;
    const resumed = lastId === undefined ? undefined : store.streamOf(lastId);
    // The SDK refuses what is no request for a stream, and goes on with the answer to a request.
    if (!isStreamRequest(request) || (resumed !== undefined && resumed !== STANDALONE_STREAM))
      return answer(request, reply);
    const { localPort, remotePort } = request.raw.socket;
    ports = localPort && remotePort ? { own: localPort, client: remotePort } : undefined;
    reply.hijack();
    reply.raw.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      "mcp-session-id": info.id,
    });
    // The headers of a stream without data would wait for its first event.
    reply.raw.flushHeaders();
    // What a host before this one has sent cannot be resumed from: a new stream is the best there is.
    stream.connect(reply.raw, resumed === undefined ? undefined : lastId);
    touch();
    if (stream.isConnected) options.connected();
    return reply;
  }

  const connection: Connection = {
    id: info.id,
    info,
    get isConnected() {
      return stream.isConnected;
    },
    get ports() {
      return ports;
    },
    notify: stream.notify,
    deliver: stream.deliver,
    handle: (request, reply) =>
      request.method === "GET" ? openStream(request, reply) : answer(request, reply, request.body),
    async initialize() {
      const { protocolVersion, name, version } = info;
      const params = { protocolVersion, capabilities: {}, clientInfo: { name, version } };
      const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" };
      const answer = await transport.handleRequest(
        new Request("http://127.0.0.1/mcp", { method: "POST", headers }),
        { parsedBody: { jsonrpc: "2.0", id: "initialize", method: "initialize", params } },
      );
      await answer.text();
    },
    close: () => transport.close(),
  };
  options.register(connection);
  await server.connect(transport);
  touch();
  return connection;
}

/** Whether the transport will open a stream, as far as it depends on the request. */
function isStreamRequest({ headers }: FastifyRequest): boolean {
  const version = headers["mcp-protocol-version"];
  return (
    headers.accept?.includes("text/event-stream") === true &&
    (version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(String(version)))
  );
}

/** The request as the transport wants it; its address is of no interest there. */
function webRequest(request: FastifyRequest): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  return new Request("http://127.0.0.1/mcp", { method: request.method, headers });
}
