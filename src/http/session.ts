/** One connected CLI: its McpServer and transport, its event stream, and the decisions it has yet to hear of. */
import { setImmediate } from "node:timers/promises";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { type JSONRPCMessage, SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/sdk/types.js";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { IdeNotifications } from "../ide/wire.ts";
import { BoundedEventStore, STANDALONE_STREAM } from "./event-store.ts";

/** What a later host needs to know of a session to go on with it. */
export interface KnownSession {
  readonly id: string;
  /** Unix milliseconds. */
  readonly connectedAt: number;
  /** How the CLI names itself. */
  readonly name: string;
  readonly version: string;
  readonly protocolVersion: string;
}

export interface Session {
  readonly id: string;
  readonly known: KnownSession;
  /** Sends the context if a stream is open. To a slow reader only the newest goes. */
  notify(method: "ide/contextUpdate", params: IdeNotifications["ide/contextUpdate"]): void;
  /**
   * Sends a decision of the user's, as soon as a stream is open.
   * @returns whether it has left; it has not when the session ended first.
   */
  deliver<M extends "ide/diffAccepted" | "ide/diffRejected">(
    method: M,
    params: IdeNotifications[M],
  ): Promise<boolean>;
}

export interface Connection extends Session {
  readonly isOpen: boolean;
  /** Answers a request of this session's client, which Fastify has read. */
  handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
  /** Takes the first message, for a client that has sent it to a host before this one. */
  initialize(): Promise<void>;
  /** Ends the session. May run twice. */
  close(): Promise<void>;
}

export interface ConnectionOptions {
  known: KnownSession;
  server: McpServer;
  /** Registers what the server offers; it cannot be told later. */
  register(session: Session): void;
  /** Milliseconds between two signs of life on a silent stream. */
  keepAlive: number;
  /** Without an open stream the session ends this long after its last request (milliseconds). */
  grace: number;
  /** The client has been initialized. */
  connected(): void;
  /** The event stream is open: what is sent now arrives. */
  opened(): void;
  /** The event stream closed; it may come back. */
  dropped(): void;
  ended(): void;
}

/** How soon to look again whether a slow reader has taken a decision (milliseconds). */
const RECHECK = 1_000;

interface Outcome {
  readonly message: JSONRPCMessage;
  /** Given to a stream: it is in the event store. */
  sent: boolean;
  readonly settle: (delivered: boolean) => void;
}

export async function createConnection(options: ConnectionOptions): Promise<Connection> {
  const { known, server, grace } = options;
  const store = new BoundedEventStore();
  const outcomes: Outcome[] = [];
  let stream: FastifyReply["raw"] | undefined;
  /** The newest context, while the reader has not yet taken what came before it. */
  let late: JSONRPCMessage | undefined;
  let expiry: NodeJS.Timeout | undefined;
  let requests = 0;
  let ended = false;

  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => known.id,
    onsessioninitialized: options.connected,
    eventStore: store,
    keepAliveMs: options.keepAlive,
  });
  server.server.onclose = () => {
    if (ended) return;
    ended = true;
    clearTimeout(expiry);
    for (const outcome of outcomes.splice(0)) outcome.settle(false);
    options.ended();
  };
  /** Starts the time after which a session that shows no life ends. */
  function touch(): void {
    clearTimeout(expiry);
    if (stream || requests > 0 || ended) return;
    expiry = setTimeout(() => void transport.close(), grace);
    expiry.unref();
  }

  function send(message: JSONRPCMessage): Promise<void> {
    return transport.send(message).catch(() => {}); // a stream that is gone is seen at its end
  }

  /** Sends the decisions that are due, and settles them once the stream has taken them. */
  async function flush(): Promise<void> {
    const current = stream;
    if (!current) return;
    for (const outcome of outcomes) {
      if (outcome.sent) continue;
      outcome.sent = true;
      await send(outcome.message);
    }
    await setImmediate(); // the bytes go from the transport's stream to the socket in microtasks
    if (current !== stream || current.destroyed) return;
    if (current.writableLength > 0) {
      setTimeout(flush, RECHECK).unref();
      return;
    }
    for (const outcome of outcomes.filter(({ sent }) => sent)) {
      outcomes.splice(outcomes.indexOf(outcome), 1);
      outcome.settle(true);
    }
  }

  function sendLate(): void {
    if (!stream || stream.writableNeedDrain || !late) return;
    void send(late);
    late = undefined;
  }

  async function openStream(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const lastEventId = request.headers["last-event-id"];
    const resumed =
      typeof lastEventId === "string" ? await store.getStreamIdForEventId(lastEventId) : undefined;
    // What a host before this one has sent cannot be resumed from: a new stream is the best there is.
    if (resumed === undefined) delete request.headers["last-event-id"];
    const standalone = resumed === undefined || resumed === STANDALONE_STREAM;
    const previous = stream;
    // The SDK answers 409 to a second stream, which the CLI counts as an error; the newer one is the one that is read.
    if (standalone && isStreamRequest(request)) transport.closeStandaloneSSEStream();
    const response = await transport.handleRequest(webRequest(request));
    if (response.status !== 200 || !standalone) return reply.send(response);
    // One that nobody reads would wait to be read before it ends.
    if (previous?.writableNeedDrain) previous.destroy();
    const current = reply.raw;
    stream = current;
    late = undefined;
    touch();
    const drop = () => {
      if (stream !== current) return;
      stream = undefined;
      touch();
      if (!ended) options.dropped();
    };
    onceClosed(current, drop);
    current.on("drain", sendLate);
    reply.send(response);
    // The headers of a stream without data would wait for its first event.
    current.flushHeaders();
    // The store replays what was sent after the last event that the client has seen, and nothing else does.
    if (resumed === undefined) for (const outcome of outcomes) outcome.sent = false;
    void flush();
    if (stream === current) options.opened();
    return reply;
  }

  const connection: Connection = {
    id: known.id,
    known,
    get isOpen() {
      return stream !== undefined;
    },
    notify(method, params) {
      if (!stream) return;
      late = { jsonrpc: "2.0", method, params: { ...params } };
      sendLate();
    },
    deliver: (method, params) =>
      new Promise((settle) => {
        if (ended) return settle(false);
        outcomes.push({ message: { jsonrpc: "2.0", method, params: { ...params } }, sent: false, settle });
        void flush();
      }),
    async handle(request, reply) {
      if (request.method === "GET") return openStream(request, reply);
      requests += 1;
      touch();
      onceClosed(reply.raw, () => {
        requests -= 1;
        touch();
      });
      return reply.send(await transport.handleRequest(webRequest(request), { parsedBody: request.body }));
    },
    async initialize() {
      const { protocolVersion, name, version } = known;
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

/** Calls back when a response ends, also when it has ended by now. */
function onceClosed(response: FastifyReply["raw"], run: () => void): void {
  if (response.closed || response.destroyed) run();
  else response.once("close", run);
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
