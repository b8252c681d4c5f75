/** Manages the sessions of all connected CLIs: creates and limits them, and finds the session of each request. */
import { randomUUID } from "node:crypto";
import { EventEmitter } from "node:events";
import type { ServerOptions } from "@modelcontextprotocol/sdk/server/index.js";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Log } from "../base/log.ts";
import type { ClientEvents, SessionInfo } from "./client.ts";
import { hasLongId, type Introduction, sessionInfo } from "./client-limits.ts";
import { DISCOVER, methodNotFound, rpcError } from "./errors.ts";
import type { Route } from "./guard.ts";
import type { Connection, Session } from "./session.ts";

/**
 * Interval of keep-alive comments on event streams (ms). The CLI's HTTP client drops a stream that is silent for 300 s.
 */
const KEEP_ALIVE_INTERVAL_MS = 60_000;

/** Loads the MCP SDK. Called in advance, so that the first client does not wait for the SDK. */
export const prepare = () => import("./sdk.ts");
export type Sdk = Awaited<ReturnType<typeof prepare>>;

export type { Session } from "./session.ts";

/** Events of sessions. Listeners run synchronously. */
export interface SessionEvents extends ClientEvents {
  /** Emitted before the session is connected, so that listeners can register tools, resources and prompts. */
  created: [server: McpServer, session: Session, sdk: Sdk];
  /** The list of initialized sessions (`all`) has changed. */
  changed: [];
}

/** Name and capabilities of an MCP server, as clients see them. */
export interface Offer {
  name: string;
  title?: string;
  options: ServerOptions;
}

const COMPANION: Offer = { name: "gemini-bridge.nvim", options: { capabilities: { tools: {} } } };

interface SessionOptions {
  /** Version of the plugin. */
  version: string;
  /** Describes the server to each new client. Default: the companion server for CLIs. */
  offer?: () => Promise<Offer>;
  log: Log;
  /** Maximum number of sessions. More clients are refused. */
  maxSessions: number;
  /** Lifetime of a session without an open stream, counted from its last request (ms). */
  grace: number;
  /** Interval of keep-alive comments on the event stream (milliseconds). */
  keepAlive?: number;
}

export interface Sessions {
  readonly events: EventEmitter<SessionEvents>;
  /** Creates the route for MCP's streamable HTTP at this path. */
  route(url: string): Route;
  /**
   * Continues the sessions of an earlier host. Each session expires after the grace time, unless its client returns.
   */
  restore(infos: readonly SessionInfo[]): Promise<void>;
  /** Lists all initialized sessions. They are stored for a later host. */
  all(): SessionInfo[];
  /** Lists the sessions with an open event stream. */
  connected(): Session[];
  get(id: string): Session | undefined;
}

export function createSessions(options: SessionOptions): Sessions {
  const { version, log, maxSessions, grace, keepAlive = KEEP_ALIVE_INTERVAL_MS } = options;
  const { offer = async () => COMPANION } = options;
  const events = new EventEmitter<SessionEvents>();
  /**
   * The sessions that count for the limit. Includes sessions that are still being initialized, unlike `connections`.
   */
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

  /** Opens a session for a CLI. Closes the session if the MCP SDK refuses the CLI's request `initialize`. */
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
      // Gives the same answer as for an unknown session, so that a client cannot learn of sessions with other tokens.
      if (connection?.info.credential !== request.credential) return refuse(404, -32001, "Session not found");
      return connection.handle(request, reply);
    }
    const { isInitializeRequest, isJSONRPCRequest } = await prepare();
    if (isJSONRPCRequest(body) && body.method === DISCOVER) return reply.send(methodNotFound(body.id));
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
