import { createServer } from "node:net";
import t, { type Test } from "tap";
import { type RunningBridge, startBridge } from "../support/bridge.ts";
import type { Discovery } from "../support/client.ts";
import { ask, INITIALIZE } from "../support/server.ts";
import { waitFor } from "../support/wait.ts";

/** A server that waits for a port to become free, and takes it. */
function startThief(t: Test) {
  const thief = createServer((socket) => socket.on("error", () => {}));
  t.teardown(() => thief.close());
  const take = (port: number) =>
    new Promise<boolean>((resolve) => {
      thief.removeAllListeners("error").once("error", () => resolve(false));
      thief.listen(port, "127.0.0.1", () => resolve(true));
    });
  return (port: number) => waitFor(() => take(port), "the port");
}

/** Checks that the old token is refused, and that Neovim's terminals get the new one. */
async function hasNewAddress(t: Test, bridge: RunningBridge, { port, content }: Discovery): Promise<void> {
  const next = bridge.file();
  t.not(next.port, port);
  t.not(next.content.authToken, content.authToken);
  const headers = { authorization: `Bearer ${content.authToken}` };
  t.equal((await ask(next.port, { headers, body: INITIALIZE })).status, 401, "what the thief heard");
  t.equal(await bridge.nvim.lua("return vim.env.GEMINI_CLI_IDE_AUTH_TOKEN"), next.content.authToken);
}

t.test("a host that crashed gets new tokens if its port was taken", async (t) => {
  const bridge = await startBridge(t);
  const before = bridge.file();
  const host = await bridge.host();
  const take = startThief(t);
  process.kill(host, "SIGKILL");
  await take(before.port); // competes with the next host for the port
  await bridge.nextHost(host);
  await hasNewAddress(t, bridge, before);
});

t.test("a bridge that was stopped gets new tokens if its port was taken", async (t) => {
  const bridge = await startBridge(t);
  const before = bridge.file();
  await bridge.nvim.command("GeminiStop");
  await bridge.is("stopped");
  await startThief(t)(before.port);
  await bridge.nvim.command("GeminiStart");
  await bridge.is("running");
  await hasNewAddress(t, bridge, before);

  const next = bridge.file();
  await bridge.nvim.command("GeminiRestart");
  await bridge.is("running");
  t.match(
    bridge.file(),
    { port: next.port, content: { authToken: next.content.authToken } },
    "which it keeps",
  );
});
