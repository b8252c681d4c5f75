/** Formats errors for MCP clients, and closes connections that are no longer useful. */
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";

/** Time in which a peer can read its answer and close the connection itself (ms). */
export const CLOSE_DELAY_MS = 1_000;

/** Builds the body of an HTTP error. @returns a JSON-RPC error that answers no particular request */
export function rpcError(code: number, message: string) {
  return { jsonrpc: "2.0", error: { code, message }, id: null } as const;
}

/**
 * Clients of the newer MCP protocol, which has no sessions, call this method first. If the call fails, they use the
 * older protocol.
 */
export const DISCOVER = "server/discover";

/** Builds the answer to a request with an unknown method. */
export function methodNotFound(id: unknown) {
  return { jsonrpc: "2.0", error: { code: -32601, message: "Method not found" }, id } as const;
}

/** JSON-RPC error codes and messages by HTTP status. They replace Fastify's own messages, which may reveal internals. */
const ERRORS: Record<number, [code: number, message: string]> = {
  400: [-32700, "Parse error"],
  408: [-32600, "Request timed out"],
  413: [-32600, "Request body is too large"],
  415: [-32600, "Unsupported media type: Content-Type must be application/json"],
  431: [-32600, "Request header fields are too large"],
};

function errorOf(status: number): [code: number, message: string] {
  return ERRORS[status] ?? (status < 500 ? [-32600, "Invalid request"] : [-32603, "Internal error"]);
}

/** Fastify's error handler. Its answers contain no stack traces and no paths. */
export function sendError(error: FastifyError, _request: FastifyRequest, reply: FastifyReply): void {
  const status = error.statusCode !== undefined && error.statusCode >= 400 ? error.statusCode : 500;
  // Keeps the connection open: closing it during an upload would reset it, and the client could not read the error.
  // Node reads and discards the rest of the body, until the request timeout.
  reply.removeHeader("connection");
  reply.code(status).send(rpcError(...errorOf(status)));
}

/**
 * Answers data that is not a valid HTTP request.
 * @param answering whether the answer to an earlier request is still being sent. An error must not be mixed into that
 * answer
 */
export function sendClientError(error: NodeJS.ErrnoException, socket: Socket, answering: boolean): void {
  if (!socket.writable || answering || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const status =
    error.code === "HPE_HEADER_OVERFLOW" ? 431 : error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
  endWith(socket, status, "application/json", JSON.stringify(rpcError(...errorOf(status))));
}

/** Sends a last answer on a connection, and closes the connection. @param type media type of the body */
export function endWith(socket: Duplex, status: number, type: string, body: string): void {
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Content-Type: ${type}; charset=utf-8`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`);
  destroyLater(socket, () => true);
}

/**
 * Destroys a connection after a delay, unless the peer has closed it by then. Closing only our side of the connection
 * would keep the file descriptor open until the peer closes its side.
 * @param isUseless decides after the delay whether to destroy the connection
 */
export function destroyLater(socket: Duplex, isUseless: () => boolean): void {
  const timer = setTimeout(() => {
    if (isUseless()) socket.destroy();
  }, CLOSE_DELAY_MS);
  timer.unref();
  socket.once("close", () => clearTimeout(timer));
}
