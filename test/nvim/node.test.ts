/** Tests one complete session on the Node that runs the tests. scripts/test.mjs runs this file on several Nodes. */
import { realpathSync } from "node:fs";
import t from "tap";
import { startBridge } from "../support/bridge.ts";

t.test("a session works on this Node: context, a review, and a stop", async (t) => {
  const bridge = await startBridge(t, { files: { "a.txt": "one\n" }, args: ["a.txt"] });
  const { nvim } = bridge;
  const host = await bridge.host();
  const used = await nvim.lua("return vim.uv.fs_realpath(vim.fn.exepath('node'))");
  t.equal(used, realpathSync(process.execPath), "the host's is the same");
  const client = await bridge.client();
  const context = await client.waitForNotification("ide/contextUpdate");
  t.equal(context.workspaceState?.openFiles?.[0]?.path, nvim.path("a.txt"));
  t.same(await client.openDiff(nvim.path("a.txt"), "two\n"), { content: [] });
  await nvim.command("GeminiAccept");
  t.equal((await client.waitForNotification("ide/diffAccepted")).content, "two\n");

  process.kill(host, "SIGTERM");
  await bridge.nextHost(host);
  // V8 would report an unknown flag here, and the message would contain it as the reason.
  t.match(await nvim.messages(), /bridge ended unexpectedly \(exit code 0\); restarting/);
});
