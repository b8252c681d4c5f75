/** Tests a network drive that stops answering. Only root can mount such a drive. See also test/unit/disk.test.ts. */
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { workspacePaths } from "../../src/discovery/workspace.ts";
import { createFiles } from "../../src/sharing/files.ts";
import { disk, fileSystem } from "../../src/system/disk.ts";
import { startBridge, startConnected } from "../support/bridge.ts";
import { mountNetworkFolder } from "../support/network.ts";
import { isAlive } from "../support/processes.ts";
import { makeDirectory } from "../support/sandbox.ts";
import { waitFor } from "../support/wait.ts";

const NO_PATTERNS: string[] = [];
/** Skips the tests in containers without FUSE. */
const FUSE = { skip: !existsSync("/dev/fuse") && "this machine has no FUSE" };

t.test("a silent network drive affects only its own files", FUSE, async (t) => {
  const network = await mountNetworkFolder(t, "remote\n");
  const { bridge, nvim } = await startBridge(t, {
    files: { "a.txt": "one\n", "b.txt": "two\n" },
    args: ["a.txt"],
  });
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
  await context((paths) => paths.includes(network.file)); // no event of the editor triggers this context
  t.same(await client.openDiff(network.file, "four\n"), { content: [] });
  await nvim.command("GeminiReject");
  await client.waitForNotification("ide/diffRejected");
});

t.test("a host that waits for a silent network drive can be stopped", FUSE, async (t) => {
  const network = await mountNetworkFolder(t, "remote\n");
  const { bridge, client } = await startConnected(t, { files: { "a.txt": "one\n" }, args: ["a.txt"] });
  await network.fallSilent();
  t.ok((await client.openDiff(network.file, "two\n")).isError);
  const host = await bridge.host();
  await bridge.nvim.stopBridge();
  await waitFor(() => !isAlive(host), "the host to end", 2_000);
  t.same(bridge.files(), []);
  t.notMatch(await bridge.nvim.messages(), /unexpectedly/);
});

t.test(
  "a model's question about a silent network drive ends, and later questions are answered again",
  FUSE,
  async (t) => {
    const network = await mountNetworkFolder(t, "text\n");
    const base = makeDirectory(t);
    writeFileSync(join(base, "local.txt"), "");
    symlinkSync(network.path, join(base, "link"));
    const size = (path: string) =>
      disk.moment().ask(function* () {
        return (yield* fileSystem.stat(path)).value?.size;
      });

    t.equal(size(join(base, "local.txt")), 0, "what is local is answered at once");
    t.equal(await size(network.file), 5);
    t.equal(
      (await disk.moment().ask(() => fileSystem.read(join(base, "link/remote.txt")))).value?.toString(),
      "text\n",
    );
    t.equal(await size(join(network.path, "none")), undefined);

    let answers = 0;
    const files = createFiles({ answered: () => answers++ });
    t.teardown(() => files.close());
    const verdict = () => files.takeSnapshot(NO_PATTERNS)(join(base, "link/remote.txt"));
    t.equal(verdict(), "absent", "until it is known");
    await waitFor(() => verdict() === "shared", "the verdict");

    await network.fallSilent();
    const began = performance.now();
    await t.rejects(Promise.resolve(size(network.file)), { name: "NoAnswer" });
    t.ok(performance.now() - began < 3_000);
    t.equal(size(join(base, "local.txt")), 0);
    await waitFor(() => verdict() === "absent", "it to be taken from what is shared");
    t.same(await workspacePaths([network.path, base]), {
      open: [network.path, base],
      listed: [network.path, base],
    });

    // An ignore file may be a link to a file on the drive.
    mkdirSync(join(base, "project"));
    writeFileSync(join(base, "project/a.txt"), "");
    symlinkSync(network.file, join(base, "project/.geminiignore"));
    t.equal(files.takeSnapshot(NO_PATTERNS)(join(base, "project/a.txt")), "absent");
    t.equal(files.takeSnapshot(NO_PATTERNS)(join(base, "local.txt")), "shared");

    const before = answers;
    await network.answer();
    await waitFor(() => answers > before, "word of its return");
    await waitFor(() => verdict() === "shared", "it to be shared again");
    await waitFor(
      () => files.takeSnapshot(NO_PATTERNS)(join(base, "project/a.txt")) === "shared",
      "the rules to be read",
    );
  },
);
