/**
 * Accepts the WebSockets of Claude Code and of CLIs that have adopted its protocol, and keeps their sessions. A CLI
 * finds the port and the token in its lock file, which src/discovery writes. The protocol has no specification; this is
 * the protocol of Claude Code 2.1.330.
 */
import type { EventEmitter } from "node:events";
import type { Client, ClientEvents, ClientList } from "../http/client.ts";
import type { Address } from "../http/guard.ts";
import type { SocketRoute } from "../http/listen-on-port.ts";
import { judge, refuse } from "./guard.ts";
import type { SocketServer, SocketServerOptions } from "./server.ts";

export type SocketEndpoint = ClientList & SocketRoute;

export interface SocketEndpointOptions extends SocketServerOptions {
  /** Port and tokens. The name of a token is that of a profile. */
  address: Address;
  /** Maximum number of connections. More clients are refused. */
  maxSessions: number;
  events: EventEmitter<ClientEvents>;
}

export function createSocketEndpoint(options: SocketEndpointOptions): SocketEndpoint {
  const { address, maxSessions, log, events } = options;
  const sessions = new Map<string, Client>();
  /** Number of open connections, including those before the `initialize` request. */
  let open = 0;
  let isClosed = false;
  let server: SocketServer | undefined;

  /** Loads the server when the first client connects. */
  async function load(): Promise<SocketServer> {
    const { createSocketServer } = await import("./server.ts");
    server ??= createSocketServer(options);
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
      const verdict = judge(request, address);
      if ("problem" in verdict || open >= maxSessions) {
        const { status, problem } =
          "problem" in verdict ? verdict : { status: 503, problem: "Too many sessions" };
        log.debug(`connection ${request.socket.remotePort}: a WebSocket was refused:`, status);
        return refuse(socket, status, problem);
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
