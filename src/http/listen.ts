/** The endpoint at work: its port, and the tokens that open it. */
import { randomBytes } from "node:crypto";
import type { Address } from "./guard.ts";
import { type AppOptions, buildApp } from "./server.ts";

export interface Endpoint extends Address {
  /** Ends every connection and session. */
  close(): Promise<unknown>;
}

/**
 * Listens on loopback, with a token for each of these names.
 * @param before what the clients of an earlier host know. When that port is not to be had, whoever has it is told the
 *   tokens by the clients that come back, so that all of it is new then.
 */
export async function listen(
  options: Omit<AppOptions, "address">,
  names: readonly string[],
  before: { port?: number | undefined; tokens?: Address["tokens"] | undefined } = {},
): Promise<Endpoint> {
  let address: Address | undefined;
  const app = buildApp({ ...options, address: () => address });
  const host = "127.0.0.1";
  let known = before.tokens ?? {};
  try {
    await app.listen({ host, port: before.port ?? 0 });
  } catch (error) {
    if (before.port === undefined) throw error;
    options.log.warn(`port ${before.port} is taken; the tokens are new ones, too:`, error);
    known = {};
    await app.listen({ host, port: 0 });
  }
  const bound = app.server.address();
  if (bound === null || typeof bound === "string") throw new Error("the server has no port");
  const tokens = names.map((name) => [name, known[name] ?? randomBytes(32).toString("base64url")]);
  address = { port: bound.port, tokens: Object.fromEntries(tokens) };
  return { ...address, close: () => app.close() };
}
