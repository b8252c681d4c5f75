/** Tests that an agent whose process ends does not block undo. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { machineName } from "../../src/system/container.ts";
import { ChangesHost } from "../support/changes.ts";
import { temporary } from "../support/temporary.ts";
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

/**
 * Delays the next host in this directory, so that its start does not complete.
 * @returns a function that ends the delay
 */
function holdValues(directory: string): () => Promise<void> {
  const folder = join(directory, "state/changes", machineName());
  mkdirSync(folder, { recursive: true });
  const journal = join(folder, "1.jsonl");
  const values = existsSync(journal) ? readFileSync(journal) : Buffer.alloc(0);
  rmSync(journal, { force: true });
  execFileSync("mkfifo", [journal]);
  return async () => {
    const pipe = await open(journal, "w");
    rmSync(journal);
    await pipe.writeFile(values);
    await pipe.close();
  };
}

/** Starts an edit of a.txt. */
async function startEdit(t: Test, directory?: string) {
  const host = new ChangesHost(t, directory);
  host.write("a.txt", "one\n");
  const { process, agent } = await startAgent(t, host);
  await host.starts("a.txt", agent);
  return { host, process, agent };
}

/** Starts an edit of a.txt, and ends the host before the edit is complete. */
async function endDuringEdit(t: Test) {
  const started = await startEdit(t);
  await started.host.settle();
  await started.host.changes.close();
  return started;
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

t.test("the next host handles a CLI that died while no host ran", async (t) => {
  const { host: first, process } = await startEdit(t);
  await first.history.list();
  await waitFor(() => first.kept().some((text) => text.includes('"awaited"')), "it to be kept");
  await waitFor(() => first.kept().some((text) => text.includes("one")), "the text to be kept");
  await first.changes.close();
  first.write("a.txt", "one\ntwo\n");
  await kill(process);
  const next = new ChangesHost(t, first.directory);
  await waitFor(() => next.change("a.txt"), "the last write to be listed");
  await next.undoesTo(t, "a.txt", "one\n");
});

t.test("a write during the start of the host is listed if the CLI then ends", async (t) => {
  const directory = temporary(t);
  const release = holdValues(directory);
  const { host, process } = await startEdit(t, directory);
  host.write("a.txt", "one\ntwo\n");
  await kill(process);
  await release();
  await waitFor(() => host.change("a.txt"), "the last write to be listed");
  await host.undoesTo(t, "a.txt", "one\n");
});

t.test("edits from before and after the start of a host belong to the same CLI", async (t) => {
  const { host: first, process, agent } = await endDuringEdit(t);
  first.write("b.txt", "one\n");
  const release = holdValues(first.directory);
  const next = new ChangesHost(t, first.directory);
  await next.starts("b.txt", agent);
  await release();
  for (const name of ["a.txt", "b.txt"]) next.write(name, "one\ntwo\n");
  await next.undo("b.txt");
  t.match(next.messages(), [/gemini is changing \S+b\.txt/]);
  await kill(process);
  await waitFor(() => next.shown.size === 2, "the last writes to be listed");
  for (const name of ["a.txt", "b.txt"]) await next.undoesTo(t, name, "one\n", name);
});

t.test("an edit that ended while no host ran is listed", async (t) => {
  for (const isEditedAgain of [false, true]) {
    const { host: first, agent } = await endDuringEdit(t);
    first.write("a.txt", "one\ntwo\n");
    const next = new ChangesHost(t, first.directory, [], { duration: 200, written: [] });
    if (isEditedAgain) {
      await next.starts("a.txt", agent);
      next.write("a.txt", "one\ntwo\nthree\n");
      await next.ended("a.txt", agent);
    } else await next.tell({ kind: "turn_ended" }, agent);
    t.match(next.change("a.txt"), { added: isEditedAgain ? 2 : 1, removed: 0 });
    await next.undoesTo(t, "a.txt", "one\n");
    t.strictSame(next.messages(), []);
  }
});

t.test(
  "while no host runs, writes by the user are not attributed to the CLI, and after a long time no write is",
  async (t) => {
    for (const duration of [200, 60_000]) {
      const { host: first, agent } = await endDuringEdit(t);
      first.write("a.txt", "one\nmine\n");
      const written = duration === 200 ? [first.path("a.txt")] : [];
      const next = new ChangesHost(t, first.directory, [], { duration, written });
      await next.tell({ kind: "turn_ended" }, agent);
      t.equal(next.change("a.txt"), undefined);
    }
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
  await host.changes.left("qwen");
  await host.undo("0.txt");
  t.match(host.messages(), [/gemini is changing \S+0\.txt/]);
  host.clearMessages();
  await host.changes.left("gemini");
  for (const name of ["0.txt", "1.txt"]) {
    t.match(host.change(name), { added: 1 });
    await host.undoesTo(t, name, "one\n");
  }
  await host.undo("2.txt");
  t.match(host.messages(), [/gemini is changing \S+2\.txt/], "a process that runs has not ended");
});

t.test("a CLI whose process is not visible does not count as ended", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "one\n");
  const agent = { cli: "gemini", session: "2", cwd: host.directory, pid: 2 ** 22 + 1 };
  await host.starts("a.txt", agent);
  host.write("a.txt", "one\ntwo\n");
  await host.undo("a.txt");
  t.match(host.messages(), [/gemini is changing /]);
  await host.ended("a.txt", agent);
  t.match(host.change("a.txt"), { added: 1 });
});
