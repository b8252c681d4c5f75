/** Connects to a Neovim over RPC. */
import { connect, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { NeovimClient } from "neovim/lib/api/client.js";
import { z } from "zod";
import { waitFor } from "./wait.ts";

const Channel = z.object({ id: z.int() });

class Client extends NeovimClient {
  /** Skips the request for Neovim's API. The client would only use the channel id. */
  override async requestApi(): Promise<[number]> {
    return [Channel.parse(await this.request("nvim_get_chan_info", [0])).id];
  }
}

/**
 * Connects to a Neovim on a Unix socket. Waits if Neovim does not listen yet.
 * @param gone resolves when Neovim has ended
 */
export async function connectRpc(path: string, gone: Promise<unknown>): Promise<NeovimClient> {
  let ended = false;
  void gone.then(() => {
    ended = true;
  });
  const socket = await waitFor<Socket | "ended">(
    () => (ended ? "ended" : dial(path)),
    "the socket of Neovim",
    10_000,
  );
  if (socket === "ended") throw new Error("Neovim ended while it was starting");
  // The client does not handle read errors, so an error ends the stream.
  const reader = new PassThrough();
  socket.on("data", (chunk) => reader.write(chunk));
  socket.on("close", () => reader.end());
  socket.on("error", () => socket.destroy());
  const own = { ...console };
  const client = new Client();
  Object.assign(console, own); // the client's logger has replaced the functions of the console
  client.attach({ reader, writer: socket });
  return client;
}

function dial(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once("connect", () => resolve(socket));
    socket.once("error", reject);
  });
}
