/** Tests that an agent whose process ends does not block undo. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import t, { type Test } from "tap";
import type { Client } from "../../src/http/client.ts";
import { ChangesHost } from "../support/changes.ts";
import { waitFor } from "../support/wait.ts";

async function startAgent(t: Test, host: ChangesHost) {
  const process = spawn("sleep", ["1000"]);
  t.teardown(() => process.kill("SIGKILL"));
  await once(process, "spawn");
  return { process, agent: { cli: "gemini", session: "2", cwd: host.directory, pid: process.pid } };
}

/** Returns a client that no agent is known to have connected. */
function client(credential: string): Client {
  return { id: "unknown", info: { credential } } as Client;
}

async function kill(process: ChildProcess): Promise<void> {
  const ended = once(process, "exit");
  process.kill("SIGKILL");
  await ended;
}

/** Starts an edit of a.txt. */
async function startEdit(t: Test) {
  const host = new ChangesHost(t);
  host.write("a.txt", "one\n");
  const { process, agent } = await startAgent(t, host);
  await host.starts("a.txt", agent);
  return { host, process, agent };
}

t.test("a CLI that dies during an edit does not block undo, and its last write is listed", async (t) => {
  const { host, process } = await startEdit(t);
  host.write("a.txt", "one\ntwo\n");
  await host.undo("a.txt");
  t.match(host.messages(), [/gemini is changing \S+: answer if the CLI asks you, then try again/]);
  await kill(process);
  await host.undoesTo(t, "a.txt", "one\n", "at once");

  const second = await startAgent(t, host);
  await host.starts("a.txt", second.agent);
  host.write("a.txt", "one\ntwo\n");
  await kill(second.process);
  await waitFor(() => host.change("a.txt"), "the last write to be listed");
  t.match(host.change("a.txt"), { added: 1 });
});

t.test(
  "after a restart during a turn, one sentence says that changes of the turn may be missing",
  async (t) => {
    const { host: first, agent } = await startEdit(t);
    await first.tell({ kind: "turn_ended" }, { cli: "qwen", session: "idle", cwd: first.directory });
    await first.close();
    first.write("a.txt", "one\ntwo\n");
    const next = new ChangesHost(t, first.directory, [], true);
    await next.tell(
      { kind: "turn_started", prompt: "go" },
      { cli: "qwen", session: "idle", cwd: first.directory },
    );
    t.strictSame(next.messages(), [], "a turn that starts after the restart is whole");
    await next.tell({ kind: "turn_ended" }, agent);
    t.equal(next.change("a.txt"), undefined);
    t.strictSame(next.messages(), [
      "Some changes by gemini may be missing from :GeminiChanges: the bridge was restarted during the turn.",
    ]);
    await next.tell({ kind: "turn_ended" }, agent);
    t.equal(next.messages().length, 1, "once");
  },
);

t.test("a CLI that has become a zombie counts as ended", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "one\n");
  const parent = spawn("sh", ["-c", "sleep 1000 & echo $!; exec tail -f /dev/null"]);
  t.teardown(() => parent.kill("SIGKILL"));
  const [output] = await once(parent.stdout, "data");
  const agent = { cli: "gemini", session: "2", cwd: host.directory, pid: Number(output) };
  await host.starts("a.txt", agent);
  host.write("a.txt", "one\ntwo\n");
  process.kill(agent.pid, "SIGKILL");
  await waitFor(() => host.change("a.txt"), "the last write to be listed");
  await host.undoesTo(t, "a.txt", "one\n");
});

t.test("a CLI that dies during a command does not block undo", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "one\n");
  const tool = { kind: "shell", name: "run_shell_command", command: "make" };
  const { process, agent } = await startAgent(t, host);
  await host.tell({ kind: "tool_starting", tool }, agent);
  host.write("a.txt", "one\ntwo\n");
  host.write("new.txt", "new\n");
  await kill(process);
  await waitFor(() => host.shown.size === 2, "the changes of the command");
  for (const name of ["a.txt", "new.txt"]) await host.undo(name);
  t.equal(String(host.read("a.txt")), "one\n");
  t.notOk(existsSync(host.path("new.txt")));
  t.strictSame(host.messages(), []);
});

t.test("a CLI whose process is not visible ends with its last connection", async (t) => {
  const agents = [2 ** 22 + 1, undefined].map((pid, i) => ({ cli: "gemini", session: `${i}`, pid }));
  const host = new ChangesHost(t);
  const visible = await startAgent(t, host);
  for (const [i, agent] of [...agents, visible.agent].entries()) {
    host.write(`${i}.txt`, "one\n");
    await host.starts(`${i}.txt`, { cwd: host.directory, ...agent });
    host.write(`${i}.txt`, "one\ntwo\n");
  }
  host.turns.disconnected(client("qwen"), true);
  await host.undo("0.txt");
  t.match(host.messages(), [/gemini is changing \S+0\.txt/]);
  host.clearMessages();
  host.turns.disconnected(client("gemini"), true);
  await host.settle();
  for (const name of ["0.txt", "1.txt"]) {
    t.match(host.change(name), { added: 1 });
    await host.undoesTo(t, name, "one\n");
  }
  await host.undo("2.txt");
  t.match(host.messages(), [/gemini is changing \S+2\.txt/], "a process that runs has not ended");
});

t.test("after a restart during a command, one sentence says that changes may be missing", async (t) => {
  const tool = { kind: "shell", name: "run_shell_command", command: "make" } as const;
  const first = new ChangesHost(t);
  first.write("a.txt", "one\n");
  await first.tell({ kind: "tool_starting", tool });
  await first.close();
  const next = new ChangesHost(t, first.directory, [], true);
  next.write("a.txt", "one\ntwo\n");
  await next.tell({ kind: "tool_ended", tool, failed: false });
  await next.tell({ kind: "turn_ended" });
  t.equal(next.shown.size, 0);
  t.match(next.messages(), [
    /^Some changes by gemini may be missing from :GeminiChanges: the bridge was restarted/,
  ]);
});
