/** Errors in the form that MCP clients read. */
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";

/** @returns the body of an HTTP error: a JSON-RPC error that answers no particular request. */
export function rpcError(code: number, message: string) {
  return { jsonrpc: "2.0", error: { code, message }, id: null } as const;
}

/** JSON-RPC's code and words for an HTTP status; the library's own messages may name inner workings. */
function describe(status: number): [code: number, message: string] {
  switch (status) {
    case 400:
      return [-32700, "Parse error"];
    case 404:
      return [-32601, "Not found"];
    case 413:
      return [-32600, "Request body is too large"];
    case 415:
      return [-32600, "Unsupported media type: Content-Type must be application/json"];
    default:
      return status < 500 ? [-32600, "Invalid request"] : [-32603, "Internal error"];
  }
}

/** Fastify's error handler: a proper status, never a stack trace or a path. */
export function sendError(error: FastifyError, _request: FastifyRequest, reply: FastifyReply): void {
  const status = error.statusCode !== undefined && error.statusCode >= 400 ? error.statusCode : 500;
  reply.code(status).send(rpcError(...describe(status)));
}
