/** What is checked of every request before its body is read. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { onRequestHookHandler } from "fastify";
import { rpcError } from "./errors.ts";

/** The one endpoint, and what it understands. */
export const ENDPOINT = { url: "/mcp", methods: ["GET", "POST", "DELETE"] };

/** A CLI in a container reaches its host by the last of these names. */
const HOSTS = ["127.0.0.1", "localhost", "host.docker.internal"];

/**
 * Refuses a foreign `Host` (DNS rebinding) and any `Origin` (no web page is a client): 403.
 * @param port answers the listening port, known only after the app was built.
 */
export function checkHost(port: () => number): onRequestHookHandler {
  return (request, reply, done) => {
    const host = request.headers.host?.toLowerCase();
    if (!HOSTS.some((name) => host === `${name}:${port()}`))
      reply.code(403).send(rpcError(-32000, "Forbidden: unknown host"));
    else if (request.headers.origin !== undefined)
      reply.code(403).send(rpcError(-32000, "Forbidden: requests with an origin are not served"));
    else done();
  };
}

/** Refuses a request without `Authorization: Bearer <token>`: 401. Compares in constant time. */
export function checkToken(token: string): onRequestHookHandler {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const expected = digest(token);
  return (request, reply, done) => {
    // The scheme is case-insensitive (RFC 9110, 11.1), the token is not.
    const given = /^bearer +(.*)$/i.exec(request.headers.authorization ?? "")?.[1] ?? "";
    if (timingSafeEqual(digest(given), expected)) done();
    else reply.code(401).header("www-authenticate", "Bearer").send(rpcError(-32000, "Unauthorized"));
  };
}

/** Refuses every other path (404) and method (405), which the router would do after it has read the body. */
export const checkRoute: onRequestHookHandler = (request, reply, done) => {
  if (request.url.split("?", 1)[0] !== ENDPOINT.url) reply.code(404).send(rpcError(-32601, "Not found"));
  else if (!ENDPOINT.methods.includes(request.method))
    reply.code(405).header("allow", ENDPOINT.methods.join(", ")).send(rpcError(-32000, "Method not allowed"));
  else done();
};
