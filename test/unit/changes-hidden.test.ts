/** Tests changes in a folder that cannot be read for a while. */
import { chmodSync, existsSync, mkdirSync } from "node:fs";
import t, { type Test } from "tap";
import { ChangesHost } from "../support/changes.ts";
import { run } from "../support/shell.ts";

const NAMES = ["d/modified.txt", "d/added.txt", "d/deleted.txt", "d/empty.txt"];

/** Creates a host with a modified, an added and two deleted files in the folder `d`. */
async function start(t: Test): Promise<ChangesHost> {
  const host = new ChangesHost(t);
  mkdirSync(host.path("d"));
  t.teardown(() => chmodSync(host.path("d"), 0o755));
  host.write("d/modified.txt", "one\n");
  host.write("d/deleted.txt", "one\n");
  host.write("d/empty.txt", "");
  await host.edit("d/modified.txt", "one\ntwo\n");
  await host.edit("d/added.txt", "new\n");
  await host.edit("d/deleted.txt", undefined);
  await host.edit("d/empty.txt", undefined);
  return host;
}

const refresh = (host: ChangesHost) => host.changes.handlers.changes_refresh({});
const hide = (host: ChangesHost) => chmodSync(host.path("d"), 0);
const reveal = (host: ChangesHost) => chmodSync(host.path("d"), 0o755);
const listed = (host: ChangesHost) => NAMES.map((name) => host.change(name));

async function undoesAll(t: Test, host: ChangesHost): Promise<void> {
  for (const name of NAMES) await host.undo(name);
  t.strictSame(host.messages(), []);
  t.equal(host.shown.size, 0);
  t.equal(String(host.read("d/modified.txt")), "one\n");
  t.notOk(existsSync(host.path("d/added.txt")));
  t.equal(String(host.read("d/deleted.txt")), "one\n");
  t.equal(String(host.read("d/empty.txt")), "");
}

t.test("changes stay listed while the user makes their folder unreadable", async (t) => {
  const host = await start(t);
  const before = listed(host);
  hide(host);
  await refresh(host);
  await run(host, "ls");
  t.same(listed(host), before);
  reveal(host);
  await refresh(host);
  t.same(listed(host), before);
  await undoesAll(t, host);
});

t.test("undo and its revert are refused while the folder is unreadable", async (t) => {
  const host = await start(t);
  hide(host);
  for (const name of NAMES) await host.undo(name);
  t.equal(host.messages().length, NAMES.length);
  for (const message of host.messages()) t.match(message, /not changed, because its folder cannot be read/);
  reveal(host);
  host.clearMessages();
  await undoesAll(t, host);
  hide(host);
  await host.revert();
  t.match(host.message(), /empty\.txt/);
  reveal(host);
  t.equal(String(host.read("d/empty.txt")), "");
});

t.test("changes stay undoable after an agent made their folder unreadable", async (t) => {
  const host = await start(t);
  await run(host, "chmod 000 d");
  for (const change of listed(host)) t.ok(change);
  await host.undo("d/deleted.txt");
  t.match(host.messages(), [/not changed, because its folder cannot be read/]);
  host.clearMessages();
  reveal(host);
  await refresh(host);
  await undoesAll(t, host);
});

t.test("a file that an agent wrote and hid with one command is only listed", async (t) => {
  const host = await start(t);
  await run(host, "echo three >> d/modified.txt; echo one > d/deleted.txt; chmod 000 d");
  reveal(host);
  host.write("d/modified.txt", "the user's\n");
  await refresh(host);
  t.match(host.change("d/modified.txt"), { fixed: "its earlier bytes are unknown" });
  await host.undo("d/modified.txt");
  t.match(host.messages(), [/cannot be restored/]);
  t.equal(String(host.read("d/modified.txt")), "the user's\n");
  await host.keep("d/modified.txt");
  t.equal(host.change("d/modified.txt"), undefined);
});

t.test("the next host undoes changes whose folder was unreadable meanwhile", async (t) => {
  const first = await start(t);
  hide(first);
  await refresh(first);
  await first.close();
  const second = new ChangesHost(t, first.directory, [], true);
  await second.settle();
  t.same(listed(second), listed(first));
  await second.close();
  reveal(first);
  const third = new ChangesHost(t, first.directory, [], true);
  await third.settle();
  t.same(listed(third), listed(first));
  await undoesAll(t, third);
});
