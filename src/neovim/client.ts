/** The private host's connection to Neovim. */
import { NeovimClient } from "neovim/lib/api/client.js";
import { Messages } from "./messages.ts";

class Client extends NeovimClient {
  /**
   * The client would ask for Neovim's whole API, and take no more of it than the channel's number, which is not asked
   * of it here: a start would wait for it.
   */
  override async requestApi(): Promise<[number]> {
    return [0];
  }
}

/** Connects by standard input and output. */
export function connect(): NeovimClient {
  // Standard output is the channel: what a library prints there would break it. The end of standard error is kept.
  console.log = console.info = console.debug = console.error;
  const client = new Client();
  client.attach({ reader: process.stdin.pipe(new Messages()), writer: process.stdout });
  return client;
}
