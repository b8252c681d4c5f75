/** Whether a bridge listens on a port of this machine. */
import { connect } from "node:net";

/** A listener answers within a few milliseconds (milliseconds). */
const TIMEOUT = 2000;

/** More than the first line of an answer (bytes). */
const MAX_LINE = 1000;

/** @returns the first line of the answer to a request without a token, nothing when none comes */
export function answerOf(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect({ host: "127.0.0.1", port });
    const finish = () => {
      socket.destroy();
      resolve(/^HTTP\/[^\r\n]+/.exec(text)?.[0]);
    };
    socket.setTimeout(TIMEOUT, finish);
    socket.once("connect", () =>
      socket.write(`GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`),
    );
    socket.setEncoding("latin1").on("data", (piece) => {
      text += piece;
      if (text.includes("\r\n") || text.length > MAX_LINE) finish();
    });
    socket.once("error", finish);
    socket.once("end", finish);
  });
}

/** Whether that answer is a bridge's: it wants a token. */
export function isBridge(answer: string | undefined): boolean {
  return answer?.includes(" 401") ?? false;
}
