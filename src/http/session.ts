/** Manages the session of one CLI: MCP server, transport, event stream and expiry. */
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import {
  isJSONRPCRequest,
  type RequestId,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/sdk/types.js";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Log } from "../base/log.ts";
import type { Client, SessionInfo } from "./client.ts";
import { createEventStream, type EventStream, onceClosed } from "./event-stream.ts";
import { encode } from "./notification.ts";

/** A client that uses MCP's streamable HTTP. The client counts as connected while its event stream is open. */
export interface Session extends Client, Pick<EventStream, "deliver"> {}

export interface Connection extends Session {
  /** Answers a request of this session. */
  handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
  /** Initializes the MCP SDK for a client that has sent `initialize` to an earlier host. */
  initialize(): Promise<void>;
  /** Ends the session. Idempotent. */
  close(): Promise<void>;
}

/** Fields without a comment are described in `SessionOptions` and `ClientEvents`. */
interface ConnectionOptions {
  info: SessionInfo;
  server: McpServer;
  log: Log;
  /** Registers tools, resources and prompts. Must be called before the transport is connected. */
  register(session: Session): void;
  keepAlive: number;
  grace: number;
  /** Called when the client's `initialize` request was accepted. */
  initialized(): void;
  connected(): void;
  disconnected(): void;
  ended(): void;
}

/**
 * Minimum time for a client to open its first event stream (ms). Applies also if the user has set a shorter grace time:
 * a new client, or a client of an earlier host, has not left yet.
 */
const FIRST_STREAM_TIMEOUT_MS = 3_000;

/** JSON-RPC error code for a cancelled request, as in the language server protocol. */
const REQUEST_CANCELLED = -32_800;

export async function createConnection(options: ConnectionOptions): Promise<Connection> {
  const { info, server, grace, log } = options;
  let expiry: NodeJS.Timeout | undefined;
  let ports: Session["ports"];
  /** Number of requests whose responses are not finished. */
  let requests = 0;
  let hadStream = false;
  let ended = false;
  /**
   * Maps each unfinished request to all requests of the same POST. A batch has several requests, any other POST has
   * one.
   */
  const posted = new Map<RequestId, readonly RequestId[]>();

  // The transport has no event store. With an event store, answers would have event ids, and the client's SDK would
  // request the stream again.
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => info.id,
    onsessioninitialized: options.initialized,
    keepAliveMs: options.keepAlive,
  });
  // Logs only the text before the colon, because the text after it may contain data from the client.
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
    keepAlive: options.keepAlive,
    disconnected() {
      touch();
      options.disconnected();
    },
  });
  /** Restarts the expiry timer, or stops it while a stream or request is open. */
  function touch(): void {
    clearTimeout(expiry);
    if (stream.isConnected || requests > 0 || ended) return;
    const delay = hadStream ? grace : Math.max(grace, FIRST_STREAM_TIMEOUT_MS);
    expiry = setTimeout(() => void transport.close(), delay);
    expiry.unref();
  }

  /**
   * Lets the MCP SDK answer. The session does not expire before the response closes, because a response may be a long
   * stream.
   */
  async function answer(request: FastifyRequest, reply: FastifyReply, body?: unknown): Promise<FastifyReply> {
    const ids = [body].flat().flatMap((message) => (isJSONRPCRequest(message) ? [message.id] : []));
    for (const id of ids) posted.set(id, ids);
    requests += 1;
    touch();
    try {
      return reply.send(await transport.handleRequest(webRequest(request), { parsedBody: body }));
    } finally {
      // Runs after the SDK has handled the request. If the client has already disconnected, the request is cancelled at
      // once, and the SDK can only cancel a request that it knows.
      onceClosed(reply.raw, () => {
        requests -= 1;
        touch();
        if (!reply.raw.writableFinished) ids.forEach(cancel);
        for (const id of ids) posted.delete(id);
      });
    }
  }

  /** Cancels a request whose answer the client cannot receive any more. */
  function cancel(requestId: RequestId): void {
    transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
  }

  /** Ends the response of a cancelled request, because the SDK would leave it open. */
  function endCancelled(id: RequestId): void {
    if (posted.get(id)?.length === 1) transport.closeSSEStream(id);
    // Removes the request from the SDK. For a batch, this also sends the error with the other answers of the batch.
    const error = { code: REQUEST_CANCELLED, message: "Request cancelled" };
    transport.send({ jsonrpc: "2.0", id, error }).catch(() => {});
  }

  async function openStream(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const lastId = request.headers["last-event-id"];
    // Passes invalid requests to the SDK, which refuses them.
    if (!isStreamRequest(request)) return answer(request, reply);
    const { localPort, remotePort } = request.raw.socket;
    ports = localPort && remotePort ? { own: localPort, client: remotePort } : undefined;
    reply.hijack();
    reply.raw.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      "mcp-session-id": info.id,
    });
    // Sends the headers now. Otherwise, they would wait for the first event.
    reply.raw.flushHeaders();
    hadStream = true;
    stream.connect(reply.raw, typeof lastId === "string" ? lastId : undefined);
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
    deliver: stream.deliver,
    sendContext: ({ notification }) => stream.sendContext(notification),
    sendDecision: ({ filePath, content }) =>
      stream.deliver(
        content === undefined
          ? encode("ide/diffRejected", { filePath })
          : encode("ide/diffAccepted", { filePath, content }),
      ),
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
  const receive = transport.onmessage;
  transport.onmessage = (message, extra) => {
    receive?.(message, extra);
    if (!("method" in message) || message.method !== "notifications/cancelled") return;
    const id = message.params?.["requestId"];
    if (typeof id === "string" || typeof id === "number") endCancelled(id);
  };
  touch();
  return connection;
}

/** Whether the headers are those of a valid request for an event stream. */
function isStreamRequest({ headers }: FastifyRequest): boolean {
  const version = headers["mcp-protocol-version"];
  return (
    headers.accept?.includes("text/event-stream") === true &&
    (version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(String(version)))
  );
}

/** Converts a request into the form that the SDK's transport takes. The transport ignores the URL. */
function webRequest(request: FastifyRequest): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  return new Request("http://127.0.0.1/mcp", { method: request.method, headers });
}
