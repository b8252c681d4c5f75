/** Checks whether a bridge listens on a local port. */
import { get } from "node:http";

const ANSWER_TIMEOUT_MS = 2000;

const MAX_PORT = 65_535;

/**
 * Sends a request without a token to a local port. A bridge answers with status 401.
 * @returns the status of the answer, or undefined without an answer
 */
export function answerOf(port: number): Promise<number | undefined> {
  // The port may come from the name of any file. Node throws for a larger port, and asks port 80 instead of port 0.
  if (port === 0 || port > MAX_PORT) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const where = { host: "127.0.0.1", port, path: "/mcp", headers: { Connection: "close" }, agent: false };
    const request = get({ ...where, timeout: ANSWER_TIMEOUT_MS });
    const finish = (status?: number) => {
      request.destroy();
      resolve(status);
    };
    request
      .once("response", ({ statusCode }) => finish(statusCode))
      .on("timeout", () => finish())
      .on("error", () => finish());
  });
}

export const BRIDGE_STATUS = 401;
