/** Opens the HTTP endpoint. The endpoint accepts requests at once; they wait while the application is loaded. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Log } from "../base/log.ts";
import type { Address, Route } from "./guard.ts";

/** Timeouts of a connection (milliseconds). */
export interface Timeouts {
  /** Timeout for the headers of a request (ms). */
  headers: number;
  /** Timeout for a whole request (ms). */
  request: number;
  /** Timeout of a connection between two requests (ms). An open event stream is not idle. */
  idle: number;
  /**
   * Interval at which Node checks the timeouts `headers` and `request` (ms). With a shorter interval, an idle host
   * would use more processor time.
   */
  check: number;
}

/**
 * A silent connection must be closed within ten seconds (SECURITY.md). Ten seconds is the sum of `headers`, `check` and
 * CLOSE_DELAY_MS.
 */
export const TIMEOUTS: Timeouts = { headers: 5_000, request: 60_000, idle: 9_000, check: 4_000 };

/** Handles an HTTP upgrade request, and takes over its connection. */
type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Serves connections after an upgrade from HTTP. */
export interface SocketRoute {
  readonly accept: UpgradeListener;
  /** Ends all connections. Idempotent. */
  close(): void;
}

interface ListenOptions {
  /** Names of the tokens to create for HTTP requests. */
  names: readonly string[];
  /** Names of the tokens to create for WebSockets. Without names, WebSockets are not accepted. */
  socketNames?: readonly string[];
  /**
   * Port and tokens of an earlier host, to be reused. If another program has taken the port, new tokens are created,
   * because returning clients send their old tokens to that program.
   */
  before?: { port?: number | undefined; tokens?: Address["tokens"] | undefined };
  log: Log;
  timeouts?: Timeouts;
}

export interface Endpoint extends Address {
  readonly server: Server;
  /** Tokens for WebSockets. Other requests cannot use them. */
  readonly socketTokens: Address["tokens"];
  /**
   * Answers the waiting requests, then every new request.
   * @param bodyLimit maximum request body (bytes)
   * @param sockets accepts WebSockets
   */
  serve(routes: readonly Route[], bodyLimit: number, sockets?: SocketRoute): Promise<void>;
  /** Ends every connection and session. Idempotent. */
  close(): Promise<void>;
}

/** Listens on loopback. Requests wait until `serve` is called. */
export async function listen(options: ListenOptions): Promise<Endpoint> {
  const { names, socketNames = [], before = {}, log, timeouts = TIMEOUTS } = options;
  const waiting: Parameters<RequestListener>[] = [];
  const waitingUpgrades: Parameters<UpgradeListener>[] = [];
  const wait: RequestListener = (...exchange) => waiting.push(exchange);
  const server = createServer({
    requestTimeout: timeouts.request,
    headersTimeout: timeouts.headers,
    keepAliveTimeout: timeouts.idle,
    connectionsCheckingInterval: timeouts.check,
    keepAlive: true, // detects a peer that has vanished without closing the connection
  });
  server.on("request", wait).on("connection", (socket: Socket) => {
    const { remotePort } = socket;
    log.debug(`connection ${remotePort} opened`);
    socket.once("close", () => log.debug(`connection ${remotePort} closed`));
  });

  let takeUpgrade: UpgradeListener = (...request) => void waitingUpgrades.push(request);
  if (socketNames.length > 0)
    server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on("error", () => {}); // the connection closes
      takeUpgrade(request, socket, head);
    });

  const open = (port: number) => once(server.listen({ host: "127.0.0.1", port }), "listening");
  let known = before.tokens ?? {};
  try {
    await open(before.port ?? 0);
  } catch (error) {
    if (before.port === undefined) throw error;
    log.warn(`port ${before.port} is taken; using another port and new tokens:`, error);
    known = {};
    await open(0);
  }
  // Without this listener, an error while accepting a connection (no file descriptors left) would end the process.
  server.on("error", ({ message }) => log.warn("the server:", message));
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new Error("the server has no port");
  const issue = (to: readonly string[]) =>
    Object.fromEntries(to.map((name) => [name, known[name] ?? randomBytes(32).toString("base64url")]));
  const address: Address = { port: bound.port, tokens: issue(names) };

  let closeRoutes = async () => {};
  let closeApp = async () => {};
  let closed: Promise<void> | undefined;
  async function end(): Promise<void> {
    const ended = once(server, "close");
    server.close();
    takeUpgrade = (_request, socket) => socket.destroy();
    for (const [, socket] of waitingUpgrades.splice(0)) socket.destroy();
    // Waits one tick before ending sessions. If the process is about to exit, it exits within this tick, and its
    // sessions and reviews are kept for the next host.
    await Promise.resolve();
    // Ends event streams before the connections are destroyed. A client reconnects after a regular end of its stream,
    // but reports an error after a broken connection.
    await closeRoutes();
    server.closeAllConnections(); // a request that waits for Neovim would keep the server open
    await closeApp();
    await ended;
  }

  return {
    ...address,
    socketTokens: issue(socketNames),
    server,
    async serve(routes, bodyLimit, sockets) {
      const { buildApp } = await import("./server.ts");
      if (closed) return;
      const app = buildApp({ server, address, routes, bodyLimit, log, idle: timeouts.idle });
      closeApp = () => app.close();
      closeRoutes = async () => {
        sockets?.close();
        await Promise.all(routes.map(({ close }) => close?.()));
      };
      await app.ready();
      server.off("request", wait).on("request", app.routing);
      for (const [request, response] of waiting.splice(0))
        if (!request.socket.destroyed) app.routing(request, response);
      if (!sockets) return;
      takeUpgrade = sockets.accept;
      for (const request of waitingUpgrades.splice(0)) sockets.accept(...request);
    },
    close() {
      closed ??= end();
      return closed;
    },
  };
}
