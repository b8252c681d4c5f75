/** Tests a complete session on the Node that runs the tests. scripts/test.mjs runs this file on several Nodes. */
import { realpathSync } from "node:fs";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { readDiscovery } from "../support/client.ts";

t.test("context, a review and a stop work on the Node that runs the tests", async (t) => {
  const { bridge, nvim } = await startBridge(t, { files: { "a.txt": "one\n" }, args: ["a.txt"] });
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
  // If a V8 flag were unknown, V8 would report the flag, and the message would contain this report as the reason.
  t.match(await nvim.messages(), /bridge has crashed \(exit code 0\) and is being restarted/);
  await nvim.stopBridge();
  t.same(readDiscovery(nvim.dirs.tmp), []);
});
