/** Tests undo by root. Only root can restore the owner and the group of a file. */
import { chmodSync, chownSync, rmSync, statSync, writeFileSync } from "node:fs";
import t, { type Test } from "tap";
import { ChangesHost } from "../support/changes.ts";

/** Ids of a user and a group that need not exist. */
const UID = 54_321;
const GID = 54_322;

/** Creates a file of another user and group, with mode 2750. */
function makeForeign(t: Test): ChangesHost {
  const host = new ChangesHost(t);
  host.write("f.sh", "one\n");
  chownSync(host.path("f.sh"), UID, GID);
  chmodSync(host.path("f.sh"), 0o2750);
  return host;
}

function owned(host: ChangesHost): { uid: number; gid: number; mode: number; text: string } {
  const { uid, gid, mode } = statSync(host.path("f.sh"));
  return { uid, gid, mode: mode & 0o7777, text: host.read("f.sh").toString() };
}

const before = { uid: UID, gid: GID, mode: 0o2750, text: "one\n" };

t.test("undo restores mode, owner and group of a file that an agent deleted", async (t) => {
  const host = makeForeign(t);
  await host.edit("f.sh", undefined);
  await host.undo("f.sh");
  t.same(owned(host), before);
  t.same(host.messages(), []);
});

t.test("undo restores mode, owner and group of a file that an agent replaced by another file", async (t) => {
  const host = makeForeign(t);
  const tool = { kind: "edit", name: "write_file", filePath: host.path("f.sh") };
  await host.tell({ kind: "tool_starting", tool });
  rmSync(host.path("f.sh"));
  writeFileSync(host.path("f.sh"), "two\n", { mode: 0o600 });
  await host.tell({ kind: "tool_ended", tool, failed: false });
  await host.undo("f.sh");
  t.same(owned(host), before);
  t.same(host.messages(), []);
});
