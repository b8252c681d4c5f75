/** Tests that an agent whose process ends does not block undo. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import t, { type Test } from "tap";
import { ChangesHost } from "../support/changes.ts";
import { waitFor } from "../support/wait.ts";

async function startAgent(t: Test, host: ChangesHost) {
  const process = spawn("sleep", ["1000"]);
  t.teardown(() => process.kill("SIGKILL"));
  await once(process, "spawn");
  return { process, agent: { cli: "gemini", session: "2", cwd: host.directory, pid: process.pid } };
}

async function kill(process: ChildProcess): Promise<void> {
  const ended = once(process, "exit");
  process.kill("SIGKILL");
  await ended;
}

t.test("a CLI that dies during an edit does not block undo, and what it wrote last is listed", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "one\n");
  const tool = { kind: "edit", name: "write_file", filePath: host.path("a.txt") };
  const { process, agent } = await startAgent(t, host);
  await host.tell({ kind: "tool_starting", tool }, agent);
  host.write("a.txt", "one\ntwo\n");
  await host.undo("a.txt");
  t.match(host.messages(), [/is being changed by gemini: answer its question, or try again later/]);
  await kill(process);
  await host.undo("a.txt");
  t.equal(String(host.read("a.txt")), "one\n", "at once");

  const second = await startAgent(t, host);
  await host.tell({ kind: "tool_starting", tool }, second.agent);
  host.write("a.txt", "one\ntwo\n");
  await kill(second.process);
  await waitFor(() => host.change("a.txt"), "the last write to be listed");
  t.match(host.change("a.txt"), { added: 1 });
});

t.test("a CLI that dies while there is no host is resolved by the next one", async (t) => {
  const first = new ChangesHost(t);
  first.write("a.txt", "one\n");
  const tool = { kind: "edit", name: "write_file", filePath: first.path("a.txt") };
  const { process, agent } = await startAgent(t, first);
  await first.tell({ kind: "tool_starting", tool }, agent);
  await first.history.list();
  await waitFor(() => first.kept().some((text) => text.includes('"awaited"')), "it to be kept");
  await waitFor(() => first.kept().some((text) => text.includes("one")), "the text to be kept");
  await first.changes.close();
  first.write("a.txt", "one\ntwo\n");
  await kill(process);
  const next = new ChangesHost(t, first.directory);
  await waitFor(() => next.change("a.txt"), "the last write to be listed");
  await next.undo("a.txt");
  t.equal(String(next.read("a.txt")), "one\n");
});

t.test("a CLI whose parent does not notice its end counts as ended", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "one\n");
  await host.settle(); // the host has started
  const parent = spawn("sh", ["-c", "sleep 1000 & echo $!; exec tail -f /dev/null"]);
  t.teardown(() => parent.kill("SIGKILL"));
  const [output] = await once(parent.stdout, "data");
  const agent = { cli: "gemini", session: "2", cwd: host.directory, pid: Number(output) };
  const tool = { kind: "edit", name: "write_file", filePath: host.path("a.txt") };
  await host.tell({ kind: "tool_starting", tool }, agent);
  host.write("a.txt", "one\ntwo\n");
  process.kill(agent.pid, "SIGKILL");
  await waitFor(() => host.change("a.txt"), "the last write to be listed");
  await host.undo("a.txt");
  t.equal(String(host.read("a.txt")), "one\n");
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

t.test("a process that is not visible ends with the last client of its CLI", async (t) => {
  const agents = [2 ** 22 + 1, undefined].map((pid, i) => ({ cli: "gemini", session: `${i}`, pid }));
  const host = new ChangesHost(t);
  const visible = await startAgent(t, host);
  const toolOf = (name: string) => ({ kind: "edit", name: "write_file", filePath: host.path(name) });
  for (const [i, agent] of [...agents, visible.agent].entries()) {
    host.write(`${i}.txt`, "one\n");
    await host.tell({ kind: "tool_starting", tool: toolOf(`${i}.txt`) }, { cwd: host.directory, ...agent });
    host.write(`${i}.txt`, "one\ntwo\n");
  }
  await host.changes.left("qwen");
  await host.undo("0.txt");
  t.match(host.messages(), [/0\.txt is being changed by gemini/]);
  host.clearMessages();
  await host.changes.left("gemini");
  for (const name of ["0.txt", "1.txt"]) {
    t.match(host.change(name), { added: 1 });
    await host.undo(name);
    t.equal(String(host.read(name)), "one\n");
  }
  await host.undo("2.txt");
  t.match(host.messages(), [/2\.txt is being changed by gemini/], "a process that runs has not ended");
});

t.test("a process that is not visible does not count as ended", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "one\n");
  const tool = { kind: "edit", name: "write_file", filePath: host.path("a.txt") };
  const agent = { cli: "gemini", session: "2", cwd: host.directory, pid: 2 ** 22 + 1 };
  await host.tell({ kind: "tool_starting", tool }, agent);
  host.write("a.txt", "one\ntwo\n");
  await host.undo("a.txt");
  t.match(host.messages(), [/is being changed by gemini/]);
  await host.tell({ kind: "tool_ended", tool, failed: false }, agent);
  t.match(host.change("a.txt"), { added: 1 });
});
