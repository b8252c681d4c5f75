/** Errors in the form that MCP clients read, and how a connection ends that is of no more use. */
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";

/** How long a peer may read its answer and go by itself (milliseconds). */
const LINGER = 1_000;

/** @returns the body of an HTTP error: a JSON-RPC error that answers no particular request. */
export function rpcError(code: number, message: string) {
  return { jsonrpc: "2.0", error: { code, message }, id: null } as const;
}

/** JSON-RPC's code and words for an HTTP status; the library's own messages may name inner workings. */
function errorOf(status: number): [code: number, message: string] {
  switch (status) {
    case 400:
      return [-32700, "Parse error"];
    case 408:
      return [-32600, "Request timed out"];
    case 413:
      return [-32600, "Request body is too large"];
    case 415:
      return [-32600, "Unsupported media type: Content-Type must be application/json"];
    case 431:
      return [-32600, "Request header fields are too large"];
    default:
      return status < 500 ? [-32600, "Invalid request"] : [-32603, "Internal error"];
  }
}

/** Fastify's error handler: a proper status, never a stack trace or a path. */
export function sendError(error: FastifyError, _request: FastifyRequest, reply: FastifyReply): void {
  const status = error.statusCode !== undefined && error.statusCode >= 400 ? error.statusCode : 500;
  // Closing while a body still comes in resets the connection, and the client never reads why. What is
  // left of the body is read and thrown away instead, for no longer than any request may take.
  reply.removeHeader("connection");
  reply.code(status).send(rpcError(...errorOf(status)));
}

/**
 * Answers what Node could not read as an HTTP request.
 * @param answering whether a response to an earlier request is under way, which nothing may be mixed into.
 */
export function sendClientError(error: NodeJS.ErrnoException, socket: Socket, answering: boolean): void {
  if (!socket.writable || answering || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const status =
    error.code === "HPE_HEADER_OVERFLOW" ? 431 : error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
  const body = JSON.stringify(rpcError(...errorOf(status)));
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      "Content-Type: application/json; charset=utf-8",
      `Content-Length: ${Buffer.byteLength(body)}`,
      "Connection: close",
      "",
      body,
    ].join("\r\n"),
  );
  destroyLater(socket, () => true);
}

/**
 * Destroys a connection whose peer has its answer and does not go: what only ends our side of it holds a descriptor for
 * as long as the peer likes.
 * @param isUseless asked when the peer has had its time
 */
export function destroyLater(socket: Socket, isUseless: () => boolean): void {
  const timer = setTimeout(() => {
    if (isUseless()) socket.destroy();
  }, LINGER);
  timer.unref();
  socket.once("close", () => clearTimeout(timer));
}
