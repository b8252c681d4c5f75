/** Tests edits whose start was not reported by a hook, for example because no host was running. */
import t, { type Test } from "tap";
import { hashOfPlain } from "../../src/system/disk-text.ts";
import { ChangesHost } from "../support/changes.ts";

function start(t: Test) {
  const host = new ChangesHost(t);
  const ended = (name: string, failed = false) => {
    return host.tell({ kind: "tool_ended", tool: host.editOf(name), failed });
  };
  return { host, ended };
}

t.test("an edit without a reported start is listed with the reason, and never restored", async (t) => {
  const { host, ended } = start(t);
  host.write("a.txt", "by the agent\n");
  await ended("a.txt");
  t.match(host.change("a.txt"), { status: "modified", hunks: [], fixed: "its earlier bytes are unknown" });
  await host.undo("a.txt");
  t.equal(String(host.read("a.txt")), "by the agent\n");
  t.match(host.messages().at(-1), /cannot be restored: its earlier bytes are unknown/);
  await host.keep("a.txt");
  t.equal(host.change("a.txt"), undefined);
});

t.test("a failed or reviewed edit without a reported start is not listed", async (t) => {
  const { host, ended } = start(t);
  host.write("a.txt", "1\n");
  await ended("a.txt", true);
  host.changes.agreed(host.path("a.txt"), [hashOfPlain("1\n")]);
  await ended("a.txt");
  t.equal(host.change("a.txt"), undefined);
});
