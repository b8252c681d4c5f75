/** Tests what a new host knows about a command that was already running. */
import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import type { Boot } from "../../src/contract/neovim.ts";
import { hashOfPlain } from "../../src/system/disk-text.ts";
import { ChangesHost } from "../support/changes.ts";
import { SETUP, sh } from "../support/shell.ts";
import { waitFor } from "../support/wait.ts";

const TOOL = { kind: "shell", name: "run_shell_command", command: "make" } as const;

/** Starts a host in a repository, and starts a command. */
async function start(t: Test): Promise<ChangesHost> {
  const host = new ChangesHost(t, undefined, ["*.key"]);
  for (const name of ["clean.txt", "other.txt"]) host.write(name, "one\n");
  await delay(50); // otherwise the files might count as newer than the index
  sh(host, SETUP);
  host.write("dirty.txt", "mine\n");
  host.write("secret.key", "a secret\n");
  await host.tell({ kind: "tool_starting", tool: TOOL });
  await waitFor(() => host.kept().some((text) => /"parts":1/.test(text)), "the snapshot to be stored");
  return host;
}

async function restart(t: Test, host: ChangesHost, absence?: Boot["absence"]): Promise<ChangesHost> {
  await host.changes.close();
  return new ChangesHost(t, host.directory, ["*.key"], absence);
}

async function end(host: ChangesHost): Promise<void> {
  await host.tell({ kind: "tool_ended", tool: TOOL, failed: false });
  await host.tell({ kind: "turn_ended" });
}

t.test("files that the user saved before and during a restart are the user's", async (t) => {
  const first = await start(t);
  await first.save("clean.txt", "one\nmine\n");
  first.write("other.txt", "one\nmine\n");
  const next = await restart(t, first, { duration: 200, written: [first.path("other.txt")] });
  await next.tell({ kind: "permission_asked", tool: TOOL }); // is handled after all values are restored
  next.write("clean.txt", "one\nmine\ntheirs\n");
  next.write("dirty.txt", "mine\ntheirs\n");
  await end(next);
  t.strictSame([...next.shown.keys()].sort(), [next.path("clean.txt"), next.path("dirty.txt")]);
  t.match(next.change("clean.txt"), { added: 1, removed: 0, fixed: undefined });
  await next.undoesTo(t, "clean.txt", "one\nmine\n");
});

t.test("a file that is not shared is listed, and its text is not stored", async (t) => {
  const first = await start(t);
  t.notMatch(first.kept().join(), /a secret/);
  const next = await restart(t, first);
  next.write("secret.key", "another secret\n");
  await end(next);
  t.match(next.change("secret.key"), { status: "modified", fixed: /earlier bytes were not stored/ });
  await next.undoesTo(t, "secret.key", "another secret\n");
});

t.test("if the command has changed Git's index, one sentence says that the list is incomplete", async (t) => {
  const first = await start(t);
  const next = await restart(t, first);
  next.write("clean.txt", "theirs\n");
  next.write("dirty.txt", "theirs\n");
  sh(next, "git add -A");
  await end(next);
  t.strictSame([...next.shown.keys()], [next.path("dirty.txt")]);
  t.strictSame(next.messages(), [
    "Some changes by gemini may be missing from :GeminiChanges: the bridge was restarted while a command changed Git's index.",
  ]);
});

t.test("after a long stop of the bridge nothing is attributed to the command", async (t) => {
  const first = await start(t);
  const next = await restart(t, first, { duration: 60_000, written: [] });
  next.write("clean.txt", "one\nperhaps mine\n");
  await end(next);
  t.equal(next.shown.size, 0);
  t.match(next.messages(), [
    /^Some changes by gemini may be missing from :GeminiChanges: the bridge was restarted during a command\.$/,
  ]);
});

t.test("a cancelled command, whose end is reported twice, does not make the list incomplete", async (t) => {
  const host = await start(t);
  await host.tell({ kind: "turn_ended" });
  await end(host);
  t.strictSame(host.messages(), []);
  await t.resolves(waitFor(() => host.kept().length === 0, "the snapshot to be removed"));
});

t.test(
  "a text that the user accepts after a restart, before the tool starts, is not listed as a change",
  async (t) => {
    const first = new ChangesHost(t);
    first.write("a.txt", "one\n");
    await first.tell({ kind: "permission_asked", tool: first.editOf("a.txt") });
    await first.changes.close();
    const host = new ChangesHost(t, first.directory, [], undefined, "1", undefined, 0, [first.path("a.txt")]);
    const write = async (text: string) => {
      host.changes.agreed(host.path("a.txt"), [hashOfPlain(text)]);
      await host.starts("a.txt");
      host.write("a.txt", text);
      await host.ended("a.txt");
    };
    await write("two\n");
    t.equal(host.change("a.txt"), undefined);
    await write("three\n");
    t.match(host.change("a.txt"), { added: 1 }, "only for the edit that was asked for");
  },
);
