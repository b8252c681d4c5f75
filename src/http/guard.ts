/** Checks every request before its body is read: host, origin, token, path and method. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { FastifyReply, FastifyRequest, HTTPMethods, onRequestHookHandler } from "fastify";
import { destroyLater, rpcError } from "./errors.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The name of the token in the request. */
    credential: string;
  }
  interface FastifyContextConfig {
    maxFirstMessage?: number;
    isText?: boolean;
  }
}

/** A route behind the guards. */
export interface Route {
  readonly url: string;
  readonly methods: HTTPMethods[];
  /** Maximum body of a request without a session id (UTF-16 units). */
  readonly maxFirstMessage?: number;
  /** Passes the body to the handler as an unparsed string. */
  readonly isText?: boolean;
  handler(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
  /** Called when the application closes. */
  close?(): Promise<void>;
}

/** Accepted host names. A CLI in a container uses the last name. */
const HOSTS = ["127.0.0.1", "localhost", "host.docker.internal"];

/** The port of the endpoint and its tokens. */
export interface Address {
  readonly port: number;
  /** The tokens by name: the name of a profile or of a purpose. The name shows who has sent a request. */
  readonly tokens: Readonly<Record<string, string>>;
}

/**
 * Returns the reason to refuse a request: a foreign `Host` (DNS rebinding), or any `Origin` (web pages). Returns
 * undefined for other requests.
 */
export function problemOf({ host, origin }: IncomingHttpHeaders, port: number): string | undefined {
  if (!HOSTS.some((name) => host?.toLowerCase() === `${name}:${port}`)) return "Forbidden: unknown host";
  return origin === undefined ? undefined : "Forbidden: requests with an Origin header are not served";
}

/** Finds the name of a token. Compares all tokens in constant time. */
export function nameOfToken(tokens: Address["tokens"], given: string): string | undefined {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const found = Object.entries(tokens).filter(([, token]) => timingSafeEqual(digest(given), digest(token)));
  return found[0]?.[0];
}

/** Refuses requests with a foreign `Host` or any `Origin` (403). */
export function checkHost({ port }: Address): onRequestHookHandler {
  return (request, reply, done) => {
    const problem = problemOf(request.headers, port);
    if (problem !== undefined) refuseStranger(reply, 403, problem);
    else done();
  };
}

/** Refuses a request without `Authorization: Bearer <token>` with 401. */
export function checkToken({ tokens }: Address): onRequestHookHandler {
  return (request, reply, done) => {
    // The scheme is case-insensitive (RFC 9110, 11.1), the token is not.
    const given = /^bearer +(.*)$/i.exec(request.headers.authorization ?? "")?.[1] ?? "";
    const name = nameOfToken(tokens, given);
    request.credential = name ?? "";
    if (name !== undefined) done();
    else refuseStranger(reply.header("www-authenticate", "Bearer"), 401, "Unauthorized");
  };
}

/** Refuses unknown paths (404) and methods (405) before the body is read, unlike Fastify's router. */
export function checkRoute(routes: readonly Route[]): onRequestHookHandler {
  return (request, reply, done) => {
    const route = routes.find(({ url }) => request.url.split("?", 1)[0] === url);
    if (!route) reply.code(404).send(rpcError(-32601, "Not found"));
    else if (!route.methods.includes(request.method))
      reply.code(405).header("allow", route.methods.join(", ")).send(rpcError(-32000, "Method not allowed"));
    else done();
  };
}

/** Refuses an unauthorized request. Destroys the connection soon after if the body is still incomplete. */
function refuseStranger(reply: FastifyReply, status: number, message: string): void {
  const { raw } = reply.request;
  reply.raw.once("finish", () => destroyLater(raw.socket, () => !raw.complete));
  reply.code(status).send(rpcError(-32000, message));
}
