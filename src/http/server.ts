/** The HTTP application: `/mcp` behind the guards. Listening is the companion's job. */
import type { Socket } from "node:net";
import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { rpcError, sendClientError, sendError } from "./errors.ts";
import { checkHost, checkRoute, checkToken, ENDPOINT } from "./guard.ts";
import type { Sessions } from "./sessions.ts";

/** Milliseconds; each bounds how long a client may hold a connection without getting on. */
export interface Timeouts {
  /** Until the headers of a request are in. */
  headers: number;
  /** Until the whole request is in. */
  request: number;
  /** Between two requests on one connection. An open event stream is not idle. */
  idle: number;
  /** How often the first two are looked at: 0.17 ms each time, which once a second were 10 ms of an idle minute. */
  check: number;
}

const TIMEOUTS: Timeouts = { headers: 10_000, request: 60_000, idle: 60_000, check: 10_000 };

export interface AppOptions {
  token: string;
  /** The listening port, known only after the app was built. */
  port: () => number;
  sessions: Sessions;
  /** The largest request body that is read (bytes). */
  bodyLimit: number;
  timeouts?: Timeouts;
}

/** @returns an application that is not listening yet. */
export function buildApp({
  token,
  port,
  sessions,
  bodyLimit,
  timeouts = TIMEOUTS,
}: AppOptions): FastifyInstance {
  /** Responses that have not ended, by connection. */
  const open = new WeakMap<Socket, Set<FastifyReply>>();

  /** Whether an answer to a request that came in whole is due or under way on this connection. */
  function isAnswering(socket: Socket): boolean {
    return [...(open.get(socket) ?? [])].some(({ raw, request }) => raw.headersSent || request.raw.complete);
  }

  const app = Fastify({
    logger: false, // it would write to standard output, the RPC channel
    bodyLimit,
    requestTimeout: timeouts.request,
    keepAliveTimeout: timeouts.idle,
    http: {
      headersTimeout: timeouts.headers,
      connectionsCheckingInterval: timeouts.check,
      keepAlive: true, // a peer that vanished behind a container's network is noticed some day
    },
    forceCloseConnections: true, // an open event stream would hold close() for ever
    // A path that cannot be decoded would be answered by the router, before the guards.
    rewriteUrl: ({ url = "/" }) => (isDecodable(url) ? url : "/"),
    exposeHeadRoutes: false,
    clientErrorHandler: (error, socket) => sendClientError(error, socket, isAnswering(socket)),
  });
  // Without a listener, an accept that fails (no descriptors left) would end the process.
  app.server.on("error", () => {});
  app.removeAllContentTypeParsers();
  const parseJson = app.getDefaultJsonParser("error", "error");
  app.addContentTypeParser<string>("application/json", { parseAs: "string" }, (request, body, done) => {
    // Some clients say what type their DELETE has, though it has no body.
    if (body === "" && request.method === "DELETE") done(null);
    else void parseJson(request, body, done);
  });
  app.addHook("onRequest", ({ raw: { socket } }, reply, done) => {
    const replies = open.get(socket) ?? new Set();
    open.set(socket, replies.add(reply));
    reply.raw.once("close", () => replies.delete(reply));
    done();
  });
  app.addHook("onRequest", checkHost(port));
  app.addHook("onRequest", checkToken(token));
  app.addHook("onRequest", checkRoute);
  app.setErrorHandler(sendError);
  app.addHook("onClose", () => sessions.close());
  app.route({ method: ENDPOINT.methods, url: ENDPOINT.url, handler: sessions.handle });
  app.setNotFoundHandler((_request, reply) => reply.code(404).send(rpcError(-32601, "Not found")));
  return app;
}

function isDecodable(url: string): boolean {
  try {
    decodeURI(url);
    return true;
  } catch {
    return false;
  }
}
