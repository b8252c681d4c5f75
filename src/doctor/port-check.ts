/** Checks whether a bridge listens on a local port. */
import { get, type IncomingMessage } from "node:http";

const ANSWER_TIMEOUT_MS = 2000;

const MAX_PORT = 65_535;

/**
 * Sends a request to a local port. The default request contains no token.
 * @returns the first line of the answer, or undefined without an answer
 */
export function answerOf(
  port: number,
  path = "/mcp",
  headers: Readonly<Record<string, string>> = { Connection: "close" },
): Promise<string | undefined> {
  // The port may come from the name of any file. Node throws for a larger port, and asks port 80 instead of port 0.
  if (port === 0 || port > MAX_PORT) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const request = get({ host: "127.0.0.1", port, path, headers, timeout: ANSWER_TIMEOUT_MS, agent: false });
    const finish = (answer?: IncomingMessage) => {
      request.destroy();
      resolve(answer && `HTTP/${answer.httpVersion} ${answer.statusCode} ${answer.statusMessage}`);
    };
    request
      .once("response", finish)
      .once("upgrade", finish)
      .on("timeout", () => finish())
      .on("error", () => finish());
  });
}

/** Recognizes a bridge by its answer to a request without a token: the status is 401. */
export function isBridge(answer: string | undefined): boolean {
  return answer?.includes(" 401") ?? false;
}
