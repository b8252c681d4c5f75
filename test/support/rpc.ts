import { connect, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { attach, type NeovimClient } from "neovim";
import { waitFor } from "./wait.ts";

/**
 * Connects to the Neovim that listens, or is about to, on a Unix socket.
 * @param gone resolves when that Neovim has ended
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
  // The client has no error handler on what it reads: let a broken connection look like an ended one.
  const reader = new PassThrough();
  socket.on("data", (chunk) => reader.write(chunk));
  socket.on("close", () => reader.end());
  socket.on("error", () => socket.destroy());
  const own = { ...console };
  const client = attach({ reader, writer: socket });
  Object.assign(console, own); // the client has sent console.* to its logger
  return client;
}

function dial(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once("connect", () => resolve(socket));
    socket.once("error", reject);
  });
}
