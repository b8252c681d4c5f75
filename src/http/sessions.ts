/** The sessions of all connected CLIs: who a request belongs to, and how many there may be. */
import { randomUUID } from "node:crypto";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { FastifyReply, FastifyRequest } from "fastify";
import { rpcError } from "./errors.ts";
import type { Connection, KnownSession, Session } from "./session.ts";

/** The CLI's HTTP client drops a stream that is silent for 300 s (milliseconds). */
const KEEP_ALIVE = 60_000;

/** More of a client's name than a line of a message holds (UTF-16 units). */
const MAX_NAME = 100;

/** Loads what the first client needs. Not needed for a start, and loaded by itself when a client comes first. */
export const prepare = () => import("./sdk.ts");

export type { Session } from "./session.ts";

export interface SessionHooks {
  /** Registers what the server offers to this session. */
  register(server: McpServer, session: Session): void;
  /** The list of sessions that a later host should know has changed. */
  changed(): void;
  /** The event stream is open: what is sent now arrives. */
  opened(session: Session): void;
  /** The event stream closed; it may come back. */
  dropped(session: Session): void;
  /** The session is gone for good. */
  closed(session: Session): void;
}

export interface SessionOptions {
  /** The server's own version. */
  version: string;
  /** More clients than this at once are refused. */
  maxSessions: number;
  /** A session whose stream is closed, or was never opened, is freed this long after its last request (milliseconds). */
  grace: number;
  /** Milliseconds between two signs of life on a silent stream. */
  keepAlive?: number;
  hooks: SessionHooks;
}

export interface Sessions {
  handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
  /** Goes on with the sessions of a host before this one; each has the grace time to come back. */
  restore(known: readonly KnownSession[]): Promise<void>;
  /** All sessions, for a later host. */
  known(): KnownSession[];
  /** Sessions with an open event stream. */
  open(): Session[];
  get(id: string): Session | undefined;
  /** Ends every session. May run twice. */
  close(): Promise<void>;
}

export function createSessions(options: SessionOptions): Sessions {
  const { version, maxSessions, grace, keepAlive = KEEP_ALIVE, hooks } = options;
  /** All of them, so that those about to be initialized count; `connections` has those that have an id to ask for. */
  const all = new Set<KnownSession>();
  const connections = new Map<string, Connection>();

  async function create(known: KnownSession): Promise<Connection> {
    all.add(known);
    const { McpServer, createConnection } = await prepare();
    const server = new McpServer({ name: "gemini-bridge.nvim", version }, { capabilities: { tools: {} } });
    const connection: Connection = await createConnection({
      known,
      server,
      register: (session) => hooks.register(server, session),
      keepAlive,
      grace,
      connected() {
        connections.set(known.id, connection);
        hooks.changed();
      },
      opened: () => hooks.opened(connection),
      dropped: () => hooks.dropped(connection),
      ended() {
        all.delete(known);
        if (!connections.delete(known.id)) return;
        hooks.closed(connection);
        hooks.changed();
      },
    });
    return connection;
  }

  /** Answers a client's first message, and forgets a client whose first message is refused. */
  async function initialize(
    {
      protocolVersion,
      clientInfo,
    }: { protocolVersion: string; clientInfo: { name: string; version: string } },
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    if (all.size >= maxSessions) {
      const message = `Too many sessions: ${maxSessions} are open; try again later`;
      return reply.code(503).header("retry-after", "30").send(rpcError(-32000, message));
    }
    const connection = await create({
      id: randomUUID(),
      connectedAt: Date.now(),
      name: printable(clientInfo.name),
      version: printable(clientInfo.version),
      protocolVersion,
    });
    await connection.handle(request, reply);
    if (!connections.has(connection.known.id)) await connection.close();
    return reply;
  }

  return {
    async handle(request, reply) {
      const refuse = (status: number, code: number, message: string) =>
        reply.code(status).send(rpcError(code, message));
      const { body } = request;
      if (Array.isArray(body) && body.length === 0)
        return refuse(400, -32600, "Invalid Request: the batch is empty");
      const id = request.headers["mcp-session-id"];
      if (typeof id === "string") {
        const connection = connections.get(id);
        return connection ? connection.handle(request, reply) : refuse(404, -32001, "Session not found");
      }
      const { isInitializeRequest } = await prepare();
      if (request.method === "POST" && isInitializeRequest(body))
        return initialize(body.params, request, reply);
      return refuse(400, -32000, "Bad Request: Mcp-Session-Id header is required");
    },
    async restore(known) {
      for (const one of known) await (await create(one)).initialize();
    },
    known: () => [...connections.values()].map((connection) => connection.known),
    open: () => [...connections.values()].filter((connection) => connection.isOpen),
    get: (id) => connections.get(id),
    async close() {
      await Promise.all([...connections.values()].map((connection) => connection.close()));
    },
  };
}

/** What a client calls itself may be shown to the user: one short line. */
function printable(text: string): string {
  return text.replace(/\p{C}/gu, " ").slice(0, MAX_NAME);
}
