/** Opens ports for tests. */
import { once } from "node:events";
import type { Server, Socket } from "node:net";
import type { Scope } from "./scope.ts";

/**
 * Lets a server listen on loopback. At the end of the test, closes the server with its connections.
 * @param port default: any free port
 * @returns the port
 */
export async function listenOn(t: Scope, server: Server, port = 0): Promise<number> {
  const sockets: Socket[] = [];
  // A client may reset its connection.
  server.on("connection", (socket) => sockets.push(socket.on("error", () => {})));
  await once(server.listen(port, "127.0.0.1"), "listening");
  t.teardown(async () => {
    const closed = once(server, "close");
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error(`not a TCP address: ${address}`);
  return address.port;
}
