/** What is checked of every request before its body is read. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { onRequestHookHandler } from "fastify";
import { rpcError } from "./errors.ts";

/**
 * Refuses a foreign `Host` (DNS rebinding) and any `Origin` (no web page is a client): 403.
 * @param port answers the listening port, known only after the app was built.
 */
export function checkHost(port: () => number): onRequestHookHandler {
  return (request, reply, done) => {
    const hosts = ["127.0.0.1", "localhost", "host.docker.internal"].map((name) => `${name}:${port()}`);
    if (!hosts.includes(request.headers.host ?? ""))
      reply.code(403).send(rpcError(-32000, "Forbidden: unknown host"));
    else if (request.headers.origin !== undefined)
      reply.code(403).send(rpcError(-32000, "Forbidden: requests with an origin are not served"));
    else done();
  };
}

/** Refuses a request without `Authorization: Bearer <token>`: 401. Compares in constant time. */
export function checkToken(token: string): onRequestHookHandler {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const expected = digest(`Bearer ${token}`);
  return (request, reply, done) => {
    if (timingSafeEqual(digest(request.headers.authorization ?? ""), expected)) done();
    else reply.code(401).header("www-authenticate", "Bearer").send(rpcError(-32000, "Unauthorized"));
  };
}
