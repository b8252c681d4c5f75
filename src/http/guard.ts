/** Checks every request before its body is read: host, origin, token, path and method. */
import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { FastifyReply, FastifyRequest, HTTPMethods, onRequestHookHandler } from "fastify";
import { destroyLater, rpcError } from "./errors.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Name of the token in the request. */
    credential: string;
  }
  interface FastifyContextConfig {
    isText?: boolean;
  }
}

/** A route. A request reaches the route only after the checks in this file. */
export interface Route {
  readonly url: string;
  readonly methods: HTTPMethods[];
  /** Whether the handler gets the body as an unparsed string. Otherwise, the handler gets parsed JSON. */
  readonly isText?: boolean;
  handler(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
  /** Called when the application closes. */
  close?(): Promise<void>;
}

/** Accepted host names. A CLI in a container uses `host.docker.internal`. */
const HOSTS = ["127.0.0.1", "localhost", "host.docker.internal"];

/** Port of the endpoint, and its tokens. */
export interface Address {
  readonly port: number;
  /**
   * The tokens by name. The name of a token is the name of a profile or of a purpose. It shows who has sent a request.
   */
  readonly tokens: Readonly<Record<string, string>>;
}

/**
 * Returns the reason for refusing a request: a foreign `Host` header (DNS rebinding), or any `Origin` header (web
 * pages). Returns undefined for other requests.
 */
export function problemOf({ host, origin }: IncomingHttpHeaders, port: number): string | undefined {
  if (!HOSTS.some((name) => host?.toLowerCase() === `${name}:${port}`)) return "Forbidden: unknown host";
  return origin === undefined ? undefined : "Forbidden: requests with an Origin header are not served";
}

/** Returns the name of a token; undefined for an unknown token. */
export type FindToken = (given: string) => string | undefined;

/**
 * Creates a function that finds tokens. The function compares all tokens in constant time. Only the length of the
 * tokens, which is no secret, could be found out by timing.
 */
export function createFindToken(tokens: Address["tokens"]): FindToken {
  const known = Object.entries(tokens).map(([name, token]) => ({ name, bytes: Buffer.from(token) }));
  return (given) => {
    const bytes = Buffer.from(given);
    const [found] = known.filter(
      (token) => token.bytes.length === bytes.length && timingSafeEqual(token.bytes, bytes),
    );
    return found?.name;
  };
}

/** Refuses requests with a foreign `Host` header, or with any `Origin` header (403). */
export function checkHost({ port }: Address): onRequestHookHandler {
  return (request, reply, done) => {
    const problem = problemOf(request.headers, port);
    if (problem !== undefined) refuseStranger(reply, 403, problem);
    else done();
  };
}

/** Refuses requests without `Authorization: Bearer <token>` (401). */
export function checkToken({ tokens }: Address): onRequestHookHandler {
  const findToken = createFindToken(tokens);
  return (request, reply, done) => {
    // The scheme is case-insensitive (RFC 9110, 11.1); the token is case-sensitive.
    const given = /^bearer +(.*)$/is.exec(request.headers.authorization ?? "")?.[1] ?? "";
    const name = findToken(given);
    request.credential = name ?? "";
    if (name !== undefined) done();
    else refuseStranger(reply.header("www-authenticate", "Bearer"), 401, "Unauthorized");
  };
}

/**
 * Refuses unknown paths (404) and methods (405) before the body is read. Fastify's router would read the body first.
 */
export function checkRoute(routes: readonly Route[]): onRequestHookHandler {
  return (request, reply, done) => {
    const route = routes.find(({ url }) => request.url.split("?", 1)[0] === url);
    if (!route) reply.code(404).send(rpcError(-32601, "Not found"));
    else if (!route.methods.includes(request.method))
      reply.code(405).header("allow", route.methods.join(", ")).send(rpcError(-32000, "Method not allowed"));
    else done();
  };
}

/** Refuses an unauthorized request. If the rest of its body does not arrive soon, destroys the connection. */
function refuseStranger(reply: FastifyReply, status: number, message: string): void {
  const { raw } = reply.request;
  reply.raw.once("finish", () => destroyLater(raw.socket, () => !raw.complete));
  reply.code(status).send(rpcError(-32000, message));
}
