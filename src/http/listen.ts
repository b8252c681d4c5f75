/** The endpoint: found and connected to at once, while what answers is still being loaded. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import type { Log } from "../base/log.ts";
import type { Address, Route } from "./guard.ts";

/** Milliseconds; each bounds how long a client may hold a connection without getting on. */
export interface Timeouts {
  /** Until the headers of a request are in. */
  headers: number;
  /** Until the whole request is in. */
  request: number;
  /** Between two requests on one connection. An open event stream is not idle. */
  idle: number;
  /** How often the first two are looked at, which costs an idle host processor time. */
  check: number;
}

/** Whoever has nothing to say is gone within ten seconds, as SECURITY.md says: headers, check, and a moment to read. */
const TIMEOUTS: Timeouts = { headers: 5_000, request: 60_000, idle: 9_000, check: 4_000 };

export interface ListenOptions {
  /** Who gets a token, each their own. */
  names: readonly string[];
  /**
   * What the clients and hooks of an earlier host know. If that port is taken, they send their tokens to its new owner:
   * issue new ones.
   */
  before?: { port?: number | undefined; tokens?: Address["tokens"] | undefined };
  log: Log;
  timeouts?: Timeouts;
}

export interface Endpoint extends Address {
  readonly server: Server;
  /**
   * Answers what is asked from now on, and first what has been asked already.
   * @param bodyLimit the largest request body that is read (bytes)
   */
  serve(routes: readonly Route[], bodyLimit: number): Promise<void>;
  /** Ends every connection and session. May run twice. */
  close(): Promise<void>;
}

/** Listens on loopback. Requests wait until they are served. */
export async function listen(options: ListenOptions): Promise<Endpoint> {
  const { names, before = {}, log, timeouts = TIMEOUTS } = options;
  const waiting: Parameters<RequestListener>[] = [];
  const wait: RequestListener = (...exchange) => waiting.push(exchange);
  const server = createServer({
    requestTimeout: timeouts.request,
    headersTimeout: timeouts.headers,
    keepAliveTimeout: timeouts.idle,
    connectionsCheckingInterval: timeouts.check,
    keepAlive: true, // a peer that vanished behind a container's network is noticed some day
  });
  server.on("request", wait).on("connection", (socket: Socket) => {
    const { remotePort } = socket;
    log.debug(`connection ${remotePort} opened`);
    socket.once("close", () => log.debug(`connection ${remotePort} closed`));
  });

  const open = (port: number) => once(server.listen({ host: "127.0.0.1", port }), "listening");
  let known = before.tokens ?? {};
  try {
    await open(before.port ?? 0);
  } catch (error) {
    if (before.port === undefined) throw error;
    log.warn(`port ${before.port} is taken; the tokens are new ones, too:`, error);
    known = {};
    await open(0);
  }
  // Without a listener, an accept that fails (no descriptors left) would end the process.
  server.on("error", ({ message }) => log.warn("the server:", message));
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new Error("the server has no port");
  const tokens = names.map((name) => [name, known[name] ?? randomBytes(32).toString("base64url")]);
  const address: Address = { port: bound.port, tokens: Object.fromEntries(tokens) };

  let closeApp = async () => {};
  let closed: Promise<void> | undefined;
  async function end(): Promise<void> {
    const ended = once(server, "close");
    server.close();
    server.closeAllConnections(); // an open event stream would hold it for ever
    await closeApp();
    await ended;
  }

  return {
    ...address,
    server,
    async serve(routes, bodyLimit) {
      const { buildApp } = await import("./server.ts");
      if (closed) return;
      const app = buildApp({ server, address, routes, bodyLimit, log, idle: timeouts.idle });
      closeApp = () => app.close();
      await app.ready();
      server.off("request", wait).on("request", app.routing);
      for (const [request, response] of waiting.splice(0))
        if (!request.socket.destroyed) app.routing(request, response);
    },
    close() {
      closed ??= end();
      return closed;
    },
  };
}
