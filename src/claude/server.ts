/** Serves WebSockets. This module is loaded when the first client connects. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Log } from "../base/log.ts";
import type { Client } from "../http/client.ts";
import { type Identity, openSession, type Times } from "./session.ts";
import { type Diagnose, type ReviewsAndCallbacks, registerTools } from "./tools.ts";

export interface SocketServerOptions {
  version: string;
  log: Log;
  /** Maximum length of a message (bytes). */
  maxMessage: number;
  /** Determines the CLI of a client. @param client name that the client reports */
  identify(credential: string, client: string): Identity;
  reviewsOf(client: Client): ReviewsAndCallbacks;
  diagnose: Diagnose;
  times?: Times;
}

export interface SocketServer {
  /** Completes the WebSocket handshake, and serves the connection. */
  open(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    credential: string,
    listeners: { connected(session: Client): void; ended(session: Client): void },
  ): void;
  /** Ends all connections. Idempotent. */
  close(): void;
}

/** WebSocket subprotocol that the client requires. */
const SUBPROTOCOL = "mcp";

/** Time for a client to confirm the end of its connection. */
const CLOSE_TIMEOUT_MS = 500;

export function createSocketServer(options: SocketServerOptions): SocketServer {
  const { version, log, maxMessage, identify, reviewsOf, diagnose, times } = options;
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: maxMessage,
    handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
  });

  return {
    open(request, socket, head, credential, listeners) {
      const { localPort, remotePort } = request.socket;
      const ports = localPort && remotePort ? { own: localPort, client: remotePort } : undefined;
      const serve = (opened: WebSocket) =>
        openSession({
          id: randomUUID(),
          socket: opened,
          ports,
          credential,
          identify: (name) => identify(credential, name),
          version,
          log,
          register: (mcp, client, sent) => registerTools(mcp, { ...reviewsOf(client), diagnose, log, sent }),
          ...listeners,
          ...(times && { times }),
        });
      server.handleUpgrade(request, socket, head, (opened) => {
        serve(opened).catch((error: unknown) => {
          log.error("a WebSocket could not be served:", error);
          opened.terminate();
        });
      });
    },
    close() {
      for (const socket of server.clients) {
        socket.close(1001);
        setTimeout(() => socket.terminate(), CLOSE_TIMEOUT_MS).unref();
      }
      server.close();
    },
  };
}
