/** Tests what a new host says about a command that was already running. */
import t from "tap";
import { ChangesHost } from "../support/changes.ts";
import { run, sh } from "../support/shell.ts";

const TOOL = { kind: "shell", name: "run_shell_command", command: "make" } as const;

t.test("after a restart during a command, one sentence says that changes may be missing", async (t) => {
  const first = new ChangesHost(t);
  first.write("a.txt", "one\n");
  await first.tell({ kind: "tool_starting", tool: TOOL });
  await first.close();
  const next = new ChangesHost(t, first.directory, [], true);
  next.write("a.txt", "one\ntwo\n");
  await next.tell({ kind: "tool_ended", tool: TOOL, failed: false });
  await next.tell({ kind: "turn_ended" });
  t.equal(next.shown.size, 0);
  t.match(next.messages(), [
    /^Some changes by gemini may be missing from :GeminiChanges: the bridge was restarted/,
  ]);
});

t.test("a file that is not shared is not compared, and its text is not stored", async (t) => {
  const host = new ChangesHost(t, undefined, ["*.key"]);
  host.write("secret.key", "a secret\n");
  await run(host, "echo another >> secret.key");
  await host.tell({ kind: "turn_ended" });
  t.equal(host.shown.size, 0);
  t.strictSame(host.messages(), [
    "Some changes by gemini may be missing from :GeminiChanges: files that are not shared with agents are not compared.",
  ]);
  t.equal(sh(host, "grep -rla secret state || :"), "");
});

t.test("a cancelled command, whose end is reported twice, does not make the list incomplete", async (t) => {
  const host = new ChangesHost(t);
  await host.tell({ kind: "tool_starting", tool: TOOL });
  await host.tell({ kind: "turn_ended" });
  await host.tell({ kind: "tool_ended", tool: TOOL, failed: false });
  await host.tell({ kind: "turn_ended" });
  t.strictSame(host.messages(), []);
});
