/** The sessions of all connected CLIs: who a request belongs to, and how many there may be. */
import { randomUUID } from "node:crypto";
import { EventEmitter } from "node:events";
import type { ServerOptions } from "@modelcontextprotocol/sdk/server/index.js";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Log } from "../base/log.ts";
import { rpcError } from "./errors.ts";
import type { Route } from "./guard.ts";
import { hasLongId, type Introduction, MAX_FIRST_MESSAGE, sessionInfo } from "./limits.ts";
import type { Connection, Session, SessionInfo } from "./session.ts";

/** The CLI's HTTP client drops a stream that is silent for 300 s (milliseconds). */
const KEEP_ALIVE = 60_000;

/** Loads what the first client needs. Not needed for a start, and loaded by itself when a client comes first. */
export const prepare = () => import("./sdk.ts");
export type Sdk = Awaited<ReturnType<typeof prepare>>;

export type { Session } from "./session.ts";

/** What happens to sessions; listeners run at once. */
export interface SessionEvents {
  /** The moment to register what the server offers to this session. */
  created: [server: McpServer, session: Session, sdk: Sdk];
  /** The event stream is open: what is sent now arrives. */
  connected: [session: Session];
  /** The event stream closed; it may come back. */
  disconnected: [session: Session];
  /** The session is gone for good. */
  ended: [session: Session];
  /** What `all` answers has changed. */
  changed: [];
}

/** What the server is to those who connect: its name, and what it can do. */
export interface Offer {
  name: string;
  title?: string;
  options: ServerOptions;
}

const COMPANION: Offer = { name: "gemini-bridge.nvim", options: { capabilities: { tools: {} } } };

export interface SessionOptions {
  /** The server's own version. */
  version: string;
  /** Asked when a client comes. The companion of the CLIs by default. */
  offer?: () => Promise<Offer>;
  log: Log;
  /** More clients than this at once are refused. */
  maxSessions: number;
  /** A session whose stream is closed, or was never opened, is freed this long after its last request (milliseconds). */
  grace: number;
  /** Milliseconds between two signs of life on a silent stream. */
  keepAlive?: number;
}

export interface Sessions {
  readonly events: EventEmitter<SessionEvents>;
  /** The endpoint of MCP's streamable HTTP at this path. */
  route(url: string): Route;
  /** Goes on with the sessions of a host before this one; each has the grace time to come back. */
  restore(infos: readonly SessionInfo[]): Promise<void>;
  /** All sessions, for a later host. */
  all(): SessionInfo[];
  /** Those with an open event stream. */
  connected(): Session[];
  get(id: string): Session | undefined;
}

export function createSessions(options: SessionOptions): Sessions {
  const { version, log, maxSessions, grace, keepAlive = KEEP_ALIVE } = options;
  const { offer = async () => COMPANION } = options;
  const events = new EventEmitter<SessionEvents>();
  /** All of them, so that those about to be initialized count; `connections` has those that have an id to ask for. */
  const all = new Set<SessionInfo>();
  const connections = new Map<string, Connection>();

  async function create(info: SessionInfo): Promise<Connection> {
    all.add(info);
    const [sdk, { options, ...names }] = await Promise.all([prepare(), offer()]);
    const server = new sdk.McpServer({ ...names, version }, options);
    const name = `session ${info.id.slice(0, 8)}`;
    const connection: Connection = await sdk.createConnection({
      info,
      server,
      log,
      register: (session) => events.emit("created", server, session, sdk),
      keepAlive,
      grace,
      initialized() {
        log.info(`${name} of`, info.name, info.version);
        connections.set(info.id, connection);
        events.emit("changed");
      },
      connected() {
        log.debug(`${name}: its event stream is open`);
        events.emit("connected", connection);
      },
      disconnected() {
        log.debug(`${name}: its event stream closed`);
        events.emit("disconnected", connection);
      },
      ended() {
        all.delete(info);
        if (!connections.delete(info.id)) return;
        log.info(`${name} ended`);
        events.emit("ended", connection);
        events.emit("changed");
      },
    });
    return connection;
  }

  /** Answers a client's first message, and forgets a client whose first message is refused. */
  async function initialize(
    introduction: Introduction,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    if (all.size >= maxSessions) {
      const message = `Too many sessions: ${maxSessions} are open; try again later`;
      return reply.code(503).header("retry-after", "30").send(rpcError(-32000, message));
    }
    const connection = await create(sessionInfo(randomUUID(), request.credential, introduction));
    await connection.handle(request, reply);
    if (!connections.has(connection.id)) await connection.close();
    return reply;
  }

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const refuse = (status: number, code: number, message: string) =>
      reply.code(status).send(rpcError(code, message));
    const { body } = request;
    if (Array.isArray(body) && body.length === 0)
      return refuse(400, -32600, "Invalid Request: the batch is empty");
    if (hasLongId(body)) return refuse(400, -32600, "Invalid Request: the id is too long");
    const id = request.headers["mcp-session-id"];
    if (typeof id === "string") {
      const connection = connections.get(id);
      // Of a session that began with another token nobody else need know.
      if (connection?.info.credential !== request.credential) return refuse(404, -32001, "Session not found");
      return connection.handle(request, reply);
    }
    const { isInitializeRequest } = await prepare();
    if (request.method === "POST" && isInitializeRequest(body))
      return initialize(body.params, request, reply);
    return refuse(400, -32000, "Bad Request: Mcp-Session-Id header is required");
  }

  async function close(): Promise<void> {
    await Promise.all([...connections.values()].map((connection) => connection.close()));
  }

  return {
    events,
    route: (url) => ({
      url,
      methods: ["GET", "POST", "DELETE"],
      maxFirstMessage: MAX_FIRST_MESSAGE,
      handler: handle,
      close,
    }),
    async restore(infos) {
      for (const info of infos) await (await create(info)).initialize();
    },
    all: () => [...connections.values()].map(({ info }) => info),
    connected: () => [...connections.values()].filter(({ isConnected }) => isConnected),
    get: (id) => connections.get(id),
  };
}
