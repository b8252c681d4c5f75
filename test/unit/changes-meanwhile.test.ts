/** Tests that changes by others are not attributed to an agent whose command is running. */
import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import { hashOfPlain } from "../../src/system/disk-text.ts";
import { ChangesHost } from "../support/changes.ts";
import { SETUP, sh } from "../support/shell.ts";

const SLEEP = { kind: "shell", name: "run_shell_command", command: "sleep 5" } as const;

/** Creates a directory with files. If `isGit` is true, the directory is a repository with tracked files. */
async function start(t: Test, isGit = true): Promise<ChangesHost> {
  const host = new ChangesHost(t);
  for (const name of ["clean.txt", "other.txt"]) host.write(name, "1\n2\n3\n4\n");
  await delay(50);
  if (isGit) sh(host, SETUP);
  host.write("dirty.txt", "mine\n2\n3\n4\n");
  return host;
}

t.test("files that the user saves during a command are not attributed to the agent", async (t) => {
  const host = await start(t);
  await host.tell({ kind: "tool_starting", tool: SLEEP });
  t.equal(host.isFollowing(), true, "Neovim tells what the user writes");
  await host.save("clean.txt", "1\nmine\n2\n3\n4\n");
  await host.save("dirty.txt", "mine\n2\n3\n4\nmine\n");
  await host.save("new.txt", "mine\n");
  await host.save("other.txt", "mine\n1\n2\n3\n4\n");
  host.write("other.txt", "mine\n1\n2\n3\n4\ntheirs\n");
  await host.tell({ kind: "tool_ended", tool: SLEEP, failed: false });
  t.strictSame([...host.shown.keys()], [host.path("other.txt")]);
  t.match(host.change("other.txt"), { added: 1, removed: 0 });
  await host.undoesTo(t, "other.txt", "mine\n1\n2\n3\n4\n");
  for (const name of ["clean.txt", "dirty.txt", "new.txt"]) t.match(String(host.read(name)), /mine/, name);
  await host.tell({ kind: "turn_ended" });
  t.equal(host.isFollowing(), false);
});

t.test("changes that are kept or undone during a command are not listed afterwards", async (t) => {
  const host = await start(t);
  await host.edit("clean.txt", "1\n2\n3\n4\ntheirs\n");
  await host.edit("new.txt", "theirs\n");
  await host.tell({ kind: "tool_starting", tool: SLEEP });
  await host.undo("clean.txt");
  await host.undo("new.txt");
  await host.tell({ kind: "tool_ended", tool: SLEEP, failed: false });
  t.strictSame([...host.shown.keys()], []);
  t.equal(String(host.read("clean.txt")), "1\n2\n3\n4\n");
  t.notOk(existsSync(host.path("new.txt")));
});

t.test("changes of a second agent during a command are attributed to that agent", async (t) => {
  const host = await start(t);
  const other = { cli: "qwen", session: "2", cwd: host.directory };
  const write = async (name: string, text: string, accepted = false) => {
    await host.starts(name, other);
    if (accepted) host.changes.agreed(host.path(name), [hashOfPlain(text)]);
    host.write(name, text);
    await host.ended(name, other);
  };
  await host.tell({ kind: "tool_starting", tool: SLEEP });
  await write("clean.txt", "1\n2\n3\n4\nkept\n");
  await host.keep("clean.txt");
  await write("other.txt", "1\n2\n3\n4\naccepted\n", true);
  await write("dirty.txt", "mine\n2\n3\n4\nlisted\n");
  // A CLI without hooks writes this file after an accepted review.
  host.changes.agreed(host.path("silent.txt"), [hashOfPlain("accepted\n")]);
  host.write("silent.txt", "accepted\n");
  await host.tell({ kind: "tool_ended", tool: SLEEP, failed: false });
  t.strictSame(
    [...host.shown.values()].map(({ path, cli }) => [path, cli]),
    [[host.path("dirty.txt"), "qwen"]],
  );
});

t.test(
  "an edit right after a command is found, even if the comparison after the command takes long",
  async (t) => {
    const host = await start(t);
    for (let i = 0; i < 15; i += 1) host.write(`sed${i}.txt`, "one\n");
    await delay(50);
    sh(host, "git add -A; git commit -qm second");
    const command = { ...SLEEP, command: "sed -i s/one/two/ sed*.txt" };
    await host.tell({ kind: "tool_starting", tool: command });
    sh(host, command.command);
    const ended = host.tell({ kind: "tool_ended", tool: command, failed: false });
    await host.starts("b.txt");
    host.write("b.txt", "theirs\n");
    await host.ended("b.txt");
    await ended;
    t.match(host.change("b.txt"), { status: "added", fixed: undefined });
    t.equal(host.shown.size, 16);
    t.match(host.change("sed3.txt"), { added: 1, removed: 1 });
  },
);

t.test(
  "an edit right after a command does not hide that the command has changed the same file",
  async (t) => {
    const host = await start(t);
    const command = { ...SLEEP, command: "sed -i s/1/one/ clean.txt" };
    await host.tell({ kind: "tool_starting", tool: command });
    sh(host, command.command);
    const ended = host.tell({ kind: "tool_ended", tool: command, failed: false });
    await host.starts("clean.txt");
    host.write("clean.txt", "one\n2\n3\nfour\n");
    await host.ended("clean.txt");
    await ended;
    t.match(host.change("clean.txt"), { added: 2, removed: 2 });
    await host.undoesTo(t, "clean.txt", "1\n2\n3\n4\n");
  },
);

for (const isGit of [true, false])
  t.test(
    `${isGit ? "in" : "outside"} a work tree, writes of a second agent do not hide what a running command has changed`,
    async (t) => {
      const tools = { edit: undefined, command: { ...SLEEP, command: "sleep 6" } };
      for (const [what, tool] of Object.entries(tools)) {
        const host = await start(t, isGit);
        const other = { cli: "qwen", session: "2", cwd: host.directory };
        const texts: [name: string, before: string][] = [
          ["clean.txt", "1\n2\n3\n4\n"],
          ["dirty.txt", "mine\n2\n3\n4\n"],
          ["new.txt", ""],
        ];
        await host.tell({ kind: "tool_starting", tool: SLEEP });
        for (const [name, before] of texts) host.write(name, `command\n${before}`);
        for (const [name, before] of texts) {
          await (tool ? host.tell({ kind: "tool_starting", tool }, other) : host.starts(name, other));
          host.write(name, `command\n${before}other\n`);
          await (tool
            ? host.tell({ kind: "tool_ended", tool, failed: false }, other)
            : host.ended(name, other));
        }
        await host.tell({ kind: "tool_ended", tool: SLEEP, failed: false });
        for (const [name, before] of texts) {
          const status = before ? "modified" : "added";
          t.match(host.change(name), { status, added: 2, removed: 0 }, `${name}, ${what}`);
          await host.undo(name);
          t.equal(before && String(host.read(name)), before, `${name}, ${what}`);
        }
        t.notOk(existsSync(host.path("new.txt")));
      }
    },
  );

t.test("a second agent's edit during a command counts only for that agent", async (t) => {
  const host = await start(t);
  const other = { cli: "qwen", session: "2", cwd: host.directory };
  await host.tell({ kind: "tool_starting", tool: SLEEP });
  for (const name of ["clean.txt", "dirty.txt"]) {
    const before = String(host.read(name));
    await host.starts(name, other);
    host.write(name, `${before}other\n`);
    await host.ended(name, other);
    t.match(host.change(name), { cli: "qwen", added: 1, removed: 0 });
  }
  await host.tell({ kind: "tool_ended", tool: SLEEP, failed: false });
  await host.tell({ kind: "turn_ended" });
  await host.tell({ kind: "turn_ended" }, other);
  const reports = host.told.filter(([name]) => name === "turn_changes").map(([, params]) => params);
  t.match(reports, [{ cli: "qwen", files: 2 }]);
  t.equal(reports.length, 1);
});

t.test("a command's change stays listed if a second agent does not edit the file after all", async (t) => {
  for (const isFailed of [true, false]) {
    const host = await start(t);
    const other = { cli: "qwen", session: "2", cwd: host.directory };
    await host.starts("clean.txt", other);
    await host.tell({ kind: "tool_starting", tool: SLEEP });
    host.write("clean.txt", "command\n2\n3\n4\n");
    await host.tell({ kind: "tool_ended", tool: SLEEP, failed: false });
    const tool = host.editOf("clean.txt");
    if (isFailed) await host.tell({ kind: "tool_ended", tool, failed: true }, other);
    await host.tell({ kind: "turn_ended" }, other);
    t.match(host.change("clean.txt"), { cli: "gemini", added: 1, removed: 1 });
    await host.undoesTo(t, "clean.txt", "1\n2\n3\n4\n");
  }
});

t.test("a command that begins before its snapshot is complete is not compared, which is said", async (t) => {
  const host = await start(t);
  await host.edit("other.txt", "1\n2\n3\n4\ntheirs\n");
  await host.tell({ kind: "tool_starting", tool: SLEEP }, undefined, AbortSignal.abort());
  for (const name of ["dirty.txt", "new.txt", "other.txt"]) host.write(name, "theirs\n");
  await host.tell({ kind: "tool_ended", tool: SLEEP, failed: false });
  t.strictSame([...host.shown.keys()], [host.path("other.txt")], "a listed file is still compared");
  await host.undoesTo(t, "other.txt", "1\n2\n3\n4\n");
  await host.tell({ kind: "turn_ended" });
  t.strictSame(host.messages(), [
    "Some changes by gemini may be missing from :GeminiChanges: a command began before its files were compared.",
  ]);
});

t.test("a file that was not read before the agent continued is unknown, and is never undone", async (t) => {
  const host = await start(t);
  await host.starts("clean.txt", undefined, AbortSignal.abort());
  host.write("clean.txt", "theirs\n");
  await host.ended("clean.txt");
  t.match(host.change("clean.txt"), { status: "modified", hunks: [], fixed: /before the file was read/ });
  await host.undoesTo(t, "clean.txt", "theirs\n");
});

/** Lets a second agent or the user write a file that the command of the first agent changes, too. */
async function together(t: Test, others: (host: ChangesHost) => Promise<void>): Promise<ChangesHost> {
  const host = await start(t);
  await host.edit("alone.txt", "theirs\n");
  await host.tell({ kind: "tool_starting", tool: SLEEP });
  host.write("clean.txt", "command\n1\n2\n3\n4\n");
  await others(host);
  await host.tell({ kind: "tool_ended", tool: SLEEP, failed: false });
  return host;
}

t.test(
  "a file that a command and others have written is undone only as a whole, which is said",
  async (t) => {
    const other = { cli: "qwen", session: "2" };
    const writers: Record<string, (host: ChangesHost) => Promise<void>> = {
      async "the user, who has read the command's text"(host) {
        await host.reads("clean.txt");
        await host.save("clean.txt", "command\n1\n2\n3\n4\nmine\n");
      },
      async "a second agent"(host) {
        await host.starts("clean.txt", { ...other, cwd: host.directory });
        host.write("clean.txt", "command\n1\n2\n3\n4\nother\n");
        await host.ended("clean.txt", { ...other, cwd: host.directory });
      },
    };
    for (const [who, write] of Object.entries(writers)) {
      const host = await together(t, write);
      t.match(host.change("clean.txt"), { added: 2, together: /others have written the file/ }, who);
      const all = ["clean.txt", "alone.txt"].map((name) => ({ path: host.path(name) }));
      await host.changes.handlers.changes_undo({ files: all, unsaved: [] });
      await host.settle();
      t.match(
        host.messages(),
        [/clean\.txt was not undone: others have written the file.*undo the whole file/],
        who,
      );
      t.notOk(existsSync(host.path("alone.txt")), who);
      await host.undo("clean.txt", [host.change("clean.txt")?.hunks[0]?.id ?? 0]);
      t.match(String(host.read("clean.txt")), /command/, who);
      await host.undoesTo(t, "clean.txt", "1\n2\n3\n4\n", who);
    }
  },
);

t.test("what the user has saved before a command changed the file is what undo restores", async (t) => {
  const host = await start(t);
  await host.tell({ kind: "tool_starting", tool: SLEEP });
  await host.save("clean.txt", "mine\n");
  host.write("clean.txt", "mine\ncommand\n");
  await host.tell({ kind: "tool_ended", tool: SLEEP, failed: false });
  t.match(host.change("clean.txt"), { added: 1, together: undefined });
  await host.undoesTo(t, "clean.txt", "mine\n");
});
