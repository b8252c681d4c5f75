/** The HTTP application: `/mcp` behind the guards. Listening is the companion's job. */
import Fastify, { type FastifyInstance } from "fastify";
import { rpcError, sendError } from "./errors.ts";
import { checkHost, checkToken } from "./guard.ts";
import type { Sessions } from "./sessions.ts";

/** The largest request body that is read (bytes). */
const BODY_LIMIT = 64 * 1024 * 1024;

export interface AppOptions {
  token: string;
  /** The listening port, known only after the app was built. */
  port: () => number;
  sessions: Sessions;
}

/** @returns an application that is not listening yet. */
export function buildApp({ token, port, sessions }: AppOptions): FastifyInstance {
  const app = Fastify({
    logger: false, // it would write to standard output, the RPC channel
    bodyLimit: BODY_LIMIT,
    forceCloseConnections: true, // an open event stream would hold close() for ever
  });
  app.addHook("onRequest", checkHost(port));
  app.addHook("onRequest", checkToken(token));
  app.setErrorHandler(sendError);
  app.setNotFoundHandler((_request, reply) => reply.code(404).send(rpcError(-32601, "Not found")));
  app.addHook("onClose", () => sessions.close());
  app.route({ method: ["GET", "POST", "DELETE"], url: "/mcp", handler: sessions.handle });
  return app;
}
