/**
 * A minimal host: a Node process that only attaches to Neovim. Its times are the lower limit (the floor) for the times
 * of the plugin. With the argument "serve", it is also a minimal HTTP server for Gemini CLI's client, with a single
 * event stream.
 */
import { createServer, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { attach } from "neovim";

const nvim = attach({ reader: process.stdin, writer: process.stdout });
nvim.on("disconnect", () => process.exit());

let stream: ServerResponse | undefined;
let held = "";

function encode(method: string, params: unknown): string {
  return `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", method, params })}\n\n`;
}

function answer({
  id,
  method,
  params,
}: {
  id?: number;
  method: string;
  params?: { protocolVersion: string };
}) {
  const result =
    method === "initialize"
      ? {
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: "floor", version: "1" },
        }
      : { tools: [] };
  return id === undefined ? undefined : { jsonrpc: "2.0", id, result };
}

function serve(ready: (port: number) => void): void {
  const server = createServer(async (request, response) => {
    if (request.method === "GET") {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      stream = response;
      return;
    }
    const reply = answer((await json(request)) as Parameters<typeof answer>[0]);
    if (!reply) return response.writeHead(202).end();
    response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "floor" });
    response.end(JSON.stringify(reply));
  });
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    if (typeof address === "object" && address) ready(address.port);
  });
}

nvim.on("notification", (name: string, [method, params]: [string, unknown]) => {
  if (name === "send") stream?.write(encode(method, params));
  // The notification "hold" only encodes a message. The notification "release" sends this message, so the measured time
  // does not include the encoding.
  if (name === "hold") held = encode(method, params);
  if (name === "release") stream?.write(held);
});

function attached(port: number): void {
  void nvim.executeLua("floor_attached(...)", [port]);
}

if (process.argv[2] === "serve") serve(attached);
else attached(0);
