/** Checks whether a bridge listens on a local port. */
import { connect } from "node:net";

const ANSWER_TIMEOUT_MS = 2000;

const MAX_PORT = 65_535;

/** Maximum length of the first line of an answer (characters). */
const MAX_LINE_LENGTH = 1000;

/**
 * Sends a request to a local port. The default request contains no token.
 * @returns the first line of the answer, or undefined without an answer
 */
export function answerOf(
  port: number,
  path = "/mcp",
  headers: Readonly<Record<string, string>> = { Connection: "close" },
): Promise<string | undefined> {
  // The port may come from the name of any file. Node throws for such a port.
  if (port > MAX_PORT) return Promise.resolve(undefined);
  const lines = Object.entries({ Host: `127.0.0.1:${port}`, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return new Promise((resolve) => {
    let text = "";
    const socket = connect({ host: "127.0.0.1", port });
    const finish = () => {
      socket.destroy();
      resolve(/^HTTP\/[^\r\n]+/.exec(text)?.[0]);
    };
    socket.setTimeout(ANSWER_TIMEOUT_MS, finish);
    socket.once("connect", () => socket.write(`GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`));
    socket.setEncoding("latin1").on("data", (piece) => {
      text += piece;
      if (text.includes("\r\n") || text.length > MAX_LINE_LENGTH) finish();
    });
    socket.once("error", finish);
    socket.once("end", finish);
  });
}

/** Recognizes a bridge by its answer to a request without a token: the status is 401. */
export function isBridge(answer: string | undefined): boolean {
  return answer?.includes(" 401") ?? false;
}
