/** The endpoint at work: its port, and the token that opens it. */
import { randomBytes } from "node:crypto";
import type { Address } from "./guard.ts";
import { type AppOptions, buildApp } from "./server.ts";

export interface Endpoint extends Address {
  /** Ends every connection and session. */
  close(): Promise<unknown>;
}

/**
 * Listens on loopback.
 * @param before what the clients of an earlier host know. When that port is not to be had, whoever has it is told the
 *   token by each client that comes back, so that both are new then.
 */
export async function listen(
  options: Omit<AppOptions, "address">,
  before: { port?: number | undefined; token?: string | undefined } = {},
): Promise<Endpoint> {
  let address: Address | undefined;
  const app = buildApp({ ...options, address: () => address });
  const host = "127.0.0.1";
  let token = before.token;
  try {
    await app.listen({ host, port: before.port ?? 0 });
  } catch (error) {
    if (before.port === undefined) throw error;
    options.log.warn(`port ${before.port} is taken; the token is a new one, too:`, error);
    token = undefined;
    await app.listen({ host, port: 0 });
  }
  const bound = app.server.address();
  if (bound === null || typeof bound === "string") throw new Error("the server has no port");
  address = { port: bound.port, token: token ?? randomBytes(32).toString("base64url") };
  return { ...address, close: () => app.close() };
}
