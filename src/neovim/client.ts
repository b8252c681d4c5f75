/** Connects the private host to Neovim. */
import { NeovimClient } from "neovim/lib/api/client.js";
import { Messages } from "./messages.ts";

class Client extends NeovimClient {
  /** Skips the request for Neovim's API, which would delay the start. The client only takes the channel id from it. */
  override async requestApi(): Promise<[number]> {
    return [0];
  }
}

/** Connects over standard input and output. */
export function connect(): NeovimClient {
  // Standard output is the RPC channel: print to standard error instead, whose end Lua keeps.
  console.log = console.info = console.debug = console.error;
  const client = new Client();
  client.attach({ reader: process.stdin.pipe(new Messages()), writer: process.stdout });
  return client;
}
