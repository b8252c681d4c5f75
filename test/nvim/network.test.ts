/** A file on a network that stops answering, under a bridge that has better to do than to wait for it. */
import { existsSync, rmSync } from "node:fs";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { mountNetworkFolder } from "../support/network.ts";
import { isAlive } from "../support/processes.ts";
import { waitFor } from "../support/wait.ts";

t.test("a silent network drive affects only its own files", async (t) => {
  const network = await mountNetworkFolder(t, "remote\n");
  // What needs no mount is in test/unit/disk.test.ts.
  if (!network) return t.comment("no network folder can be mounted here");
  const bridge = await startBridge(t, { files: { "a.txt": "one\n", "b.txt": "two\n" }, args: ["a.txt"] });
  const { nvim } = bridge;
  await nvim.command(`edit ${network.file}`);
  await nvim.command("edit a.txt");
  const client = await bridge.client();
  type Context = Awaited<ReturnType<typeof context>>;
  const context = (holds: (paths: string[]) => boolean) =>
    client.waitForNotification("ide/contextUpdate", ({ workspaceState }) =>
      holds((workspaceState?.openFiles ?? []).map(({ path }) => path)),
    );
  const latest = (): Context | undefined => client.received["ide/contextUpdate"].at(-1);
  await context((paths) => paths.includes(network.file));

  await network.fallSilent();
  await nvim.command("edit b.txt");
  await context((paths) => paths[0] === nvim.path("b.txt"));
  t.same(await client.openDiff(nvim.path("a.txt"), "three\n"), { content: [] }, "a review opens");
  await nvim.command("GeminiAccept");
  await client.waitForNotification("ide/diffAccepted");
  const { path } = bridge.file();
  rmSync(path);
  await waitFor(() => existsSync(path), "the discovery file to come back");
  const refused = await client.openDiff(network.file, "four\n");
  t.ok(refused.isError);
  t.match(refused.content, [{ text: `${network.path} does not answer` }]);
  await nvim.input("l");
  await waitFor(() => {
    const listed = latest()?.workspaceState?.openFiles ?? [];
    return !listed.some(({ path }) => path === network.file);
  }, "it to be shared no more");

  client.received["ide/contextUpdate"].length = 0;
  await network.answer();
  await context((paths) => paths.includes(network.file)); // without any event in the editor
  t.same(await client.openDiff(network.file, "four\n"), { content: [] });
  await nvim.command("GeminiReject");
  await client.waitForNotification("ide/diffRejected");
});

t.test("a host that waits for a silent network drive can be stopped", async (t) => {
  const network = await mountNetworkFolder(t, "remote\n");
  if (!network) return t.comment("no network folder can be mounted here");
  const bridge = await startBridge(t, { files: { "a.txt": "one\n" }, args: ["a.txt"] });
  const client = await bridge.client();
  await network.fallSilent();
  t.ok((await client.openDiff(network.file, "two\n")).isError);
  const host = await bridge.host();
  await bridge.nvim.command("GeminiStop");
  await bridge.is("stopped");
  await waitFor(() => !isAlive(host), "the host to end", 2_000);
  t.same(bridge.files(), []);
  t.notMatch(await bridge.nvim.messages(), /unexpectedly/);
});
