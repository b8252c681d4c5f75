import { createServer } from "node:net";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { ask, INITIALIZE } from "../support/server.ts";
import { waitFor } from "../support/wait.ts";

t.test("a token does not outlive its port, which someone else may have", async (t) => {
  const bridge = await startBridge(t);
  const { port, content } = bridge.file();
  const host = await bridge.host();
  // As fast as the host that follows tries it again.
  const thief = createServer((socket) => socket.on("error", () => {}));
  t.teardown(() => thief.close());
  process.kill(host, "SIGKILL");
  await waitFor(
    () =>
      new Promise<boolean>((resolve) => {
        thief.removeAllListeners("error").once("error", () => resolve(false));
        thief.listen(port, "127.0.0.1", () => resolve(true));
      }),
    "the port",
  );
  await bridge.nextHost(host);
  t.not(bridge.file().port, port);
  t.not(bridge.file().content.authToken, content.authToken);
  const headers = { authorization: `Bearer ${content.authToken}` };
  t.equal((await ask(bridge.file().port, { headers, body: INITIALIZE })).status, 401, "what the thief heard");
  t.equal(await bridge.nvim.lua("return vim.env.GEMINI_CLI_IDE_AUTH_TOKEN"), bridge.file().content.authToken);
});
