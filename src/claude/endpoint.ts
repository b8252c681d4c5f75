/**
 * Accepts WebSockets of Claude Code, and of other CLIs with the same protocol. Keeps their sessions. A CLI finds the
 * port and the token in the lock file that src/discovery writes. The protocol has no specification. The facts here are
 * from Claude Code 2.1.330.
 */
import type { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { SOCKET_TOKEN_HEADER } from "../contract/companion.ts";
import type { Client, ClientEvents, ClientList } from "../http/client.ts";
import { endWith } from "../http/errors.ts";
import { type Address, createFindToken, type FindToken, problemOf } from "../http/guard.ts";
import type { SocketRoute } from "../http/listen-on-port.ts";
import type { createSocketServer, SocketServerOptions } from "./sessions.ts";

type SocketServer = ReturnType<typeof createSocketServer>;
type SocketEndpoint = ClientList & SocketRoute;

interface SocketEndpointOptions extends SocketServerOptions {
  /** Port and tokens. Each token has the name of a CLI profile. */
  address: Address;
  /** Maximum number of connections. Further clients are refused. */
  maxSessions: number;
  events: EventEmitter<ClientEvents>;
}

export function createSocketEndpoint(options: SocketEndpointOptions): SocketEndpoint {
  const { address, maxSessions, log, events } = options;
  const findToken = createFindToken(address.tokens);
  const sessions = new Map<string, Client>();
  /** Number of open connections. Includes clients that have not sent the `initialize` request yet. */
  let open = 0;
  let isClosed = false;
  let server: SocketServer | undefined;

  /** Loads the server when the first client connects. */
  async function load(): Promise<SocketServer> {
    const loaded = await import("./sessions.ts");
    server ??= loaded.createSocketServer(options);
    return server;
  }

  const listeners = {
    connected(session: Client) {
      const { id, info } = session;
      log.info(`session ${id.slice(0, 8)} of`, info.name, info.version);
      sessions.set(id, session);
      events.emit("connected", session);
    },
    ended(session: Client) {
      sessions.delete(session.id);
      log.info(`session ${session.id.slice(0, 8)} ended`);
      events.emit("disconnected", session);
      events.emit("ended", session);
    },
  };

  return {
    connected: () => [...sessions.values()],
    get: (id) => sessions.get(id),
    accept(request, socket, head) {
      const verdict = judge(request, address.port, findToken);
      if ("problem" in verdict || open >= maxSessions) {
        const { status, problem } =
          "problem" in verdict ? verdict : { status: 503, problem: "Too many sessions" };
        log.debug(`connection ${request.socket.remotePort}: a WebSocket was refused:`, status);
        return endWith(socket, status, "text/plain", problem);
      }
      open += 1;
      socket.once("close", () => {
        open -= 1;
      });
      load().then(
        (loaded) =>
          isClosed ? socket.destroy() : loaded.open(request, socket, head, verdict.credential, listeners),
        (error: unknown) => {
          log.error("WebSockets cannot be served:", error);
          socket.destroy();
        },
      );
    },
    close() {
      isClosed = true;
      server?.close();
    },
  };
}

/**
 * Checks host, origin, path and token of a request for a WebSocket, before the server is loaded.
 * @returns the name of the request's token, or the reason for a refusal
 */
function judge(
  { method, url, headers }: IncomingMessage,
  port: number,
  findToken: FindToken,
): { credential: string } | { status: number; problem: string } {
  const problem = problemOf(headers, port);
  if (problem !== undefined) return { status: 403, problem };
  const given = headers[SOCKET_TOKEN_HEADER];
  const credential = findToken(typeof given === "string" ? given : "");
  if (credential === undefined) return { status: 401, problem: "Unauthorized" };
  if (url !== "/") return { status: 404, problem: "Not found" };
  if (method !== "GET" || headers.upgrade?.toLowerCase() !== "websocket")
    return { status: 400, problem: "Bad request" };
  return { credential };
}
