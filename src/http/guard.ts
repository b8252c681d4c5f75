/** What is checked of every request before its body is read. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyReply, FastifyRequest, HTTPMethods, onRequestHookHandler } from "fastify";
import { destroyLater, rpcError } from "./errors.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The name of the token that the request came with. */
    credential: string;
  }
  interface FastifyContextConfig {
    maxFirstMessage?: number;
    isText?: boolean;
  }
}

/** What is served behind the guards. */
export interface Route {
  readonly url: string;
  readonly methods: HTTPMethods[];
  /** A request that names no session holds no more than this (UTF-16 units). */
  readonly maxFirstMessage?: number;
  /** Its handler gets the JSON as a string. */
  readonly isText?: boolean;
  handler(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
  /** Ends what it keeps. */
  close?(): Promise<void>;
}

/** A CLI in a container reaches its host by the last of these names. */
const HOSTS = ["127.0.0.1", "localhost", "host.docker.internal"];

/** Where the endpoint is, and what opens it. */
export interface Address {
  readonly port: number;
  /** By name: whoever has one of them is known by its name. */
  readonly tokens: Readonly<Record<string, string>>;
}

/** Refuses a foreign `Host` (DNS rebinding) and any `Origin` (no web page is a client): 403. */
export function checkHost({ port }: Address): onRequestHookHandler {
  return (request, reply, done) => {
    const host = request.headers.host?.toLowerCase();
    if (!HOSTS.some((name) => host === `${name}:${port}`))
      refuseStranger(reply, 403, "Forbidden: unknown host");
    else if (request.headers.origin !== undefined)
      refuseStranger(reply, 403, "Forbidden: requests with an origin are not served");
    else done();
  };
}

/** Refuses a request without `Authorization: Bearer <token>`: 401. Compares in constant time, with every token. */
export function checkToken({ tokens }: Address): onRequestHookHandler {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return (request, reply, done) => {
    // The scheme is case-insensitive (RFC 9110, 11.1), the token is not.
    const given = /^bearer +(.*)$/i.exec(request.headers.authorization ?? "")?.[1] ?? "";
    const found = Object.entries(tokens).filter(([, token]) => timingSafeEqual(digest(given), digest(token)));
    request.credential = found[0]?.[0] ?? "";
    if (found.length > 0) done();
    else refuseStranger(reply.header("www-authenticate", "Bearer"), 401, "Unauthorized");
  };
}

/** Refuses every other path (404) and method (405), which the router would do after it has read the body. */
export function checkRoute(routes: readonly Route[]): onRequestHookHandler {
  return (request, reply, done) => {
    const route = routes.find(({ url }) => request.url.split("?", 1)[0] === url);
    if (!route) reply.code(404).send(rpcError(-32601, "Not found"));
    else if (!route.methods.includes(request.method))
      reply.code(405).header("allow", route.methods.join(", ")).send(rpcError(-32000, "Method not allowed"));
    else done();
  };
}

/** What is left of the body of someone without the token is not waited for as long as a client's. */
function refuseStranger(reply: FastifyReply, status: number, message: string): void {
  const { raw } = reply.request;
  reply.raw.once("finish", () => destroyLater(raw.socket, () => !raw.complete));
  reply.code(status).send(rpcError(-32000, message));
}
