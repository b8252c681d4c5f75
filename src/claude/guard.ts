/** Checks the request for a WebSocket, before the server is loaded: host, origin, path, token and number of clients. */
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { SOCKET_TOKEN_HEADER } from "../contract/companion.ts";
import { destroyLater } from "../http/errors.ts";
import { type Address, nameOfToken, problemOf } from "../http/guard.ts";

export type Verdict = { credential: string } | { status: number; problem: string };

/** @returns the name of the request's token, or the reason why the request is refused */
export function judge({ method, url, headers }: IncomingMessage, { port, tokens }: Address): Verdict {
  const problem = problemOf(headers, port);
  if (problem !== undefined) return { status: 403, problem };
  const given = headers[SOCKET_TOKEN_HEADER];
  const credential = nameOfToken(tokens, typeof given === "string" ? given : "");
  if (credential === undefined) return { status: 401, problem: "Unauthorized" };
  if (url !== "/") return { status: 404, problem: "Not found" };
  if (method !== "GET" || headers.upgrade?.toLowerCase() !== "websocket")
    return { status: 400, problem: "Bad request" };
  return { credential };
}

/** Answers a refused request, and closes its connection. */
export function refuse(socket: Duplex, status: number, problem: string): void {
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "Content-Type: text/plain; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(problem)}`,
    "Connection: close",
  ];
  socket.end(`${lines.join("\r\n")}\r\n\r\n${problem}`);
  destroyLater(socket, () => true);
}
