/** Builds the HTTP application: the routes, and the checks of every request. */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { attempt } from "../base/attempt.ts";
import type { Log } from "../base/log.ts";
import { MAX_FIRST_MESSAGE_LENGTH } from "./client-limits.ts";
import { rpcError, sendClientError, sendError } from "./errors.ts";
import { type Address, checkHost, checkRoute, checkToken, type Route } from "./guard.ts";

interface AppOptions {
  /** A server that is already listening. */
  server: Server;
  address: Address;
  routes: readonly Route[];
  log: Log;
  /** Maximum request body (bytes). */
  bodyLimit: number;
  /** Timeout of a connection between two requests (milliseconds). */
  idle: number;
}

/** @returns an application that does not receive the server's requests yet */
export function buildApp(options: AppOptions): FastifyInstance {
  const { server, address, routes, log, bodyLimit, idle } = options;
  /** Responses that are not finished yet, by connection. */
  const unfinished = new WeakMap<Socket, Set<FastifyReply>>();

  /** Whether the answer to a complete request on this connection is not finished yet. */
  function isAnswering(socket: Socket): boolean {
    const replies = [...(unfinished.get(socket) ?? [])];
    return replies.some(({ raw, request }) => raw.headersSent || request.raw.complete);
  }

  const app = Fastify({
    logger: false, // Fastify would log to standard output, the RPC channel
    bodyLimit,
    serverFactory: () => server,
    // Replaces a path that cannot be decoded. Otherwise, the router would answer the request before the guards run.
    rewriteUrl: ({ url = "/" }) => (attempt(() => decodeURI(url)) === undefined ? "/" : url),
    exposeHeadRoutes: false,
    clientErrorHandler(error, socket) {
      log.debug(`connection ${socket.remotePort} was refused:`, error.code);
      sendClientError(error, socket, isAnswering(socket));
    },
  });
  app.removeAllContentTypeParsers();
  const parseJson = app.getDefaultJsonParser("error", "error");
  app.addContentTypeParser<string>("application/json", { parseAs: "string" }, (request, body, done) => {
    // Accepts an empty body in a DELETE request: some clients send a Content-Type header without a body.
    if (body === "" && request.method === "DELETE") done(null);
    else if (request.routeOptions.config.isText) done(null, body);
    else if (request.headers["mcp-session-id"] === undefined && body.length > MAX_FIRST_MESSAGE_LENGTH)
      done(Object.assign(new Error("the first message is too long"), { statusCode: 413 }));
    else void parseJson(request, body, done);
  });
  app.decorateRequest("credential", "");
  // Tells clients only half of the real idle timeout. On a busy machine, a client can be seconds late. If its request
  // arrived while the host closes the connection, the request would be lost.
  const keepAlive = `timeout=${Math.max(1, Math.floor(idle / 2000))}`;
  app.addHook("onRequest", ({ raw: { socket } }, reply, done) => {
    reply.raw.setHeader("Keep-Alive", keepAlive);
    const replies = unfinished.get(socket) ?? new Set();
    unfinished.set(socket, replies.add(reply));
    reply.raw.once("close", () => replies.delete(reply));
    done();
  });
  app.addHook("onRequest", checkHost(address));
  app.addHook("onRequest", checkToken(address));
  app.addHook("onRequest", checkRoute(routes));
  app.addHook("onSend", ({ method, socket }, { statusCode }, payload, done) => {
    // Does not log path and headers, because they are untrusted. session.ts logs the requests that the SDK refuses.
    const words = typeof payload === "string" ? payload : "";
    if (statusCode >= 400)
      log.debug(`connection ${socket.remotePort}: ${method} was answered ${statusCode}`, words);
    done();
  });
  app.setErrorHandler(sendError);
  for (const { url, methods, isText = false, handler } of routes)
    app.route({ method: methods, url, handler, config: { isText } });
  app.setNotFoundHandler((_request, reply) => reply.code(404).send(rpcError(-32601, "Not found")));
  return app;
}
