/** Connects the private host to Neovim. */
import { NeovimClient } from "neovim/lib/api/client.js";

class Client extends NeovimClient {
  /**
   * Skips the request for Neovim's API, which would delay the start. The client would only need the channel id in the
   * answer.
   */
  override async requestApi(): Promise<[number]> {
    return [0];
  }
}

/** Connects over standard input and output. */
export function connect(): NeovimClient {
  const { error, warn } = console;
  const client = new Client(); // its logger replaces the functions of `console`
  client.logger.level = "error"; // otherwise, the client formats each message for the log
  // Sends console output to standard error, because standard output is the RPC channel. Lua keeps the last lines.
  Object.assign(console, { error, warn, log: error, info: error, debug: error });
  client.attach({ reader: process.stdin, writer: process.stdout });
  return client;
}
