import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { dirname } from "node:path";
import t from "tap";
import { hashOfPlain } from "../../src/system/disk-text.ts";
import { ChangesHost } from "../support/changes.ts";
import { SETUP, sh } from "../support/shell.ts";
import { waitFor } from "../support/wait.ts";

const LATIN1 = Buffer.from("caf\xe9\r\nna\xefve\r\n", "latin1");

t.test("a write of an agent is listed as a change, and undo restores the earlier bytes", async (t) => {
  const host = new ChangesHost(t);
  const originals = {
    "plain.txt": Buffer.from("one\ntwo\nthree\n"),
    "crlf.txt": Buffer.from("\uFEFFone\r\ntwo\r\nthree"),
    "latin1.txt": LATIN1,
    "zero.bin": Buffer.from([0, 255, 10, 0, 13, 10, 10]),
    "long.txt": Buffer.from(`${"a line of some length\n".repeat(100_000)}`),
  };
  await host.tell({ kind: "turn_started", prompt: "  do\n\0 it " });
  for (const [name, bytes] of Object.entries(originals)) {
    host.write(name, bytes);
    chmodSync(host.path(name), 0o751);
    await host.edit(name, Buffer.concat([bytes, Buffer.from("more\n")]));
    await host.edit(name, Buffer.concat([Buffer.from("top\n"), bytes, Buffer.from("more\nand more\n")]));
    t.match(host.change(name), { status: "modified", cli: "gemini", prompt: "do it" }, name);
  }
  t.match(host.change("plain.txt"), { added: 3, removed: 0 });
  t.match(host.change("plain.txt")?.hunks, [
    { line: 1, count: 1, removed: 0 },
    { line: 5, count: 2, removed: 0 },
  ]);
  await host.tell({ kind: "turn_ended" });
  t.strictSame(
    host.told.filter(([name]) => name === "turn_changes").map(([, params]) => params),
    [{ cli: "gemini", terminal: "gemini-2", files: 5, added: 15, removed: 1, incomplete: undefined }],
  );
  for (const [name, bytes] of Object.entries(originals)) {
    await host.undo(name);
    t.ok(host.read(name).equals(bytes), name);
    t.equal(statSync(host.path(name)).mode & 0o777, 0o751, "with its mode");
    t.equal(host.change(name), undefined);
  }
  t.strictSame(host.messages(), []);
  t.equal(host.isFollowing(), false, "and nothing is followed any more");
});

t.test("created and deleted files are listed and undone", async (t) => {
  const host = new ChangesHost(t);
  await host.edit("new.txt", "a\nb\n");
  t.match(host.change("new.txt"), { status: "added", added: 2, removed: 0 });
  await host.undo("new.txt");
  t.notOk(existsSync(host.path("new.txt")), "a file of the agent's goes");

  await host.edit("new.txt", "a\nb\n");
  await host.save("new.txt", "mine\na\nb\n");
  await host.undoesTo(t, "new.txt", "mine\n", "but not what the user has added to it");

  await host.edit("empty", "");
  t.match(host.change("empty"), { status: "added", hunks: [] });
  await host.undo("empty");
  t.notOk(existsSync(host.path("empty")));

  host.write("old.txt", LATIN1);
  chmodSync(host.path("old.txt"), 0o640);
  await host.edit("old.txt", undefined);
  t.match(host.change("old.txt"), { status: "deleted", removed: 2 });
  await host.undo("old.txt");
  t.ok(host.read("old.txt").equals(LATIN1), "a file that is gone comes back");
  t.equal(statSync(host.path("old.txt")).mode & 0o777, 0o640);

  await host.edit("new.txt", "theirs\n");
  await host.keep("new.txt");
  t.equal(host.change("new.txt"), undefined);
  t.equal(String(host.read("new.txt")), "theirs\n");
});

t.test("the user's edits are not attributed to the agent, reported or not", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "1\n2\n3\n4\n5\n6\n");
  await host.edit("a.txt", "1\nA\n3\n4\n5\n6\n");
  await host.save("a.txt", "1\nA\n3\n4\nfive\n6\n");
  host.write("a.txt", "0\n1\nA\n3\n4\nfive\n6\n");
  await host.edit("a.txt", "0\n1\nA\n3\nB\nfive\n6\n");
  t.match(host.change("a.txt"), { added: 2, removed: 2 });
  const [first, second] = host.change("a.txt")?.hunks ?? [];
  await host.keep("a.txt", [first?.id ?? 0]);
  t.strictSame(host.change("a.txt")?.hunks, [second]);
  await host.undoesTo(t, "a.txt", "0\n1\nA\n3\n4\nfive\n6\n");

  await host.edit("a.txt", "agent\n0\n1\nA\n3\n4\nfive\nagent\n");
  await host.save("a.txt", "agent and me\n0\n1\nA\n3\n4\nfive\nagent\n");
  t.match(host.change("a.txt")?.hunks, [{ conflict: true }, { conflict: false }]);
  await host.undoesTo(t, "a.txt", "agent and me\n0\n1\nA\n3\n4\nfive\n6\n");
  t.match(host.messages(), [/1 hunk in .* was not undone/]);
});

t.test("a last line without a line break stays separate from lines that the user adds below", async (t) => {
  const host = new ChangesHost(t);
  for (const end of ["\n", "\r\n"]) {
    const text = (...lines: string[]) => lines.join(end);
    host.write("a.txt", text("one", "two"));
    await host.edit("a.txt", text("one", "two", "theirs", ""));
    await host.save("a.txt", text("one", "two", "theirs", "mine"));
    await host.undoesTo(t, "a.txt", text("one", "two", "mine"));
    await host.edit("a.txt", text("one", ""));
    await host.save("a.txt", "one");
    await host.undoesTo(t, "a.txt", text("one", "two", "mine"));
  }
});

t.test("writing an accepted text is not listed as a change", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "\uFEFFone\r\ntwo\r\n");
  await host.starts("a.txt");
  host.changes.agreed(host.path("a.txt"), [hashOfPlain("one\nzwei\n")]);
  host.write("a.txt", "\uFEFFone\r\nzwei\r\n"); // as the CLI writes it
  await host.ended("a.txt");
  t.equal(host.change("a.txt"), undefined);
  await host.edit("a.txt", "\uFEFFone\r\nzwei\r\nthree\r\n");
  await host.undoesTo(t, "a.txt", "\uFEFFone\r\nzwei\r\n", "and what a later undo leaves");
});

t.test(
  "writing a text that the user accepted before the tool started is not listed as a change",
  async (t) => {
    const host = new ChangesHost(t);
    const write = async (text: string, isAsked: boolean) => {
      if (isAsked) {
        await host.tell({ kind: "permission_asked", tool: host.editOf("a.txt") });
        host.changes.agreed(host.path("a.txt"), [hashOfPlain(text)]);
      }
      await host.starts("a.txt");
      host.write("a.txt", text);
      await host.ended("a.txt");
    };
    host.write("a.txt", "one\n");
    await write("two\n", true);
    t.equal(host.change("a.txt"), undefined);

    await host.tell({ kind: "permission_asked", tool: host.editOf("a.txt") });
    host.changes.agreed(host.path("a.txt"), [hashOfPlain("three\n")]); // the CLI has closed the review, and does not write
    await host.tell({ kind: "turn_ended" });
    await write("three\n", false);
    t.match(
      host.change("a.txt"),
      { added: 1, removed: 1 },
      "an agreement is only for the edit that was asked for",
    );
  },
);

t.test("what a CLI writes for itself is no change, but its settings are", async (t) => {
  const host = new ChangesHost(t);
  mkdirSync(host.path(".gemini/tmp/1/plans"), { recursive: true });
  const names = [".gemini/tmp/1/plans/plan.md", ".gemini/settings.json"];
  for (const name of names) {
    host.write(name, "one\n");
    await host.edit(name, "two\n");
  }
  await host.tell({ kind: "turn_ended" });
  t.strictSame([...host.shown.keys()], [host.path(".gemini/settings.json")]);
  t.match(host.told.findLast(([name]) => name === "turn_changes")?.[1], { files: 1 });
  t.strictSame((await host.history.list()).length, 1);
  await host.decideTurn("undo", host.change(".gemini/settings.json")?.turn ?? 0);
  t.strictSame(
    names.map((name) => String(host.read(name))),
    ["two\n", "one\n"],
  );
});

t.test(
  "an announced edit that is never made is not listed, and saves by the user during that time are not attributed to the agent",
  async (t) => {
    const host = new ChangesHost(t);
    host.write("a.txt", "one\n");
    await host.starts("a.txt");
    await host.save("a.txt", "one\nmine\n");
    host.write("a.txt", "one\nmine\ntheirs\n");
    await host.ended("a.txt");
    t.match(host.change("a.txt"), { added: 1 });
    await host.undoesTo(t, "a.txt", "one\nmine\n");

    await host.starts("a.txt");
    await host.tell({ kind: "turn_ended" });
    t.equal(host.isFollowing(), false);
  },
);

t.test("undo never writes outside the expected file", async (t) => {
  const host = new ChangesHost(t);
  mkdirSync(host.path("inside"));
  mkdirSync(host.path("outside"));
  host.write("inside/a.txt", "one\n");
  await host.edit("inside/a.txt", "two\n");
  renameSync(host.path("inside"), host.path("away"));
  symlinkSync(host.path("outside"), host.path("inside"));
  host.write("outside/a.txt", "two\n");
  await host.undo("inside/a.txt");
  t.equal(String(host.read("outside/a.txt")), "two\n", "not where a new link leads");

  host.write("target.txt", "one\n");
  symlinkSync(host.path("target.txt"), host.path("link.txt"));
  await host.edit("link.txt", "two\n");
  await host.undoesTo(t, "target.txt", "one\n", "through a link that was there before");
  t.ok(statSync(host.path("link.txt")).isFile());

  host.write("named.txt", "one\n");
  linkSync(host.path("named.txt"), host.path("other.txt"));
  await host.edit("named.txt", "two\n");
  await host.undo("named.txt");
  t.equal(String(host.read("other.txt")), "one\n", "to all names of a file");
});

t.test("a change keeps its own name when the agent puts a link in place of the file", async (t) => {
  const host = new ChangesHost(t);
  for (const name of ["a.txt", "target.txt"]) host.write(name, "one\n");
  await host.starts("a.txt");
  rmSync(host.path("a.txt"));
  symlinkSync("target.txt", host.path("a.txt"));
  await host.ended("a.txt");
  t.strictSame([...host.shown.keys()], [host.path("a.txt")]);
  await host.undo("a.txt");
  t.ok(lstatSync(host.path("a.txt")).isFile());
  t.equal(String(host.read("a.txt")), "one\n");
  t.equal(String(host.read("target.txt")), "one\n");
});

t.test("a change follows its file when the user renames it", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "one\n");
  await host.edit("a.txt", "one\ntwo\n");
  await host.edit("made.txt", "made\n");
  await host.edit("gone.txt", "gone\n");
  mkdirSync(host.path("folder"));
  host.open = [host.path("folder/made.txt")];
  renameSync(host.path("a.txt"), host.path("b.txt"));
  renameSync(host.path("made.txt"), host.path("folder/made.txt"));
  rmSync(host.path("gone.txt"));
  await waitFor(() => host.change("b.txt") && host.change("folder/made.txt"), "the new names");
  await waitFor(() => host.shown.size === 2, "the earlier names to be gone");
  t.match(host.change("b.txt"), { status: "modified", added: 1 });
  t.match(host.change("folder/made.txt"), { status: "added", added: 1 });
  await host.undoesTo(t, "b.txt", "one\n");
  t.notOk(existsSync(host.path("a.txt")));
  await host.undo("folder/made.txt");
  t.notOk(existsSync(host.path("folder/made.txt")));
  t.strictSame(host.messages(), []);
});

for (const isGit of [true, false])
  t.test(
    `${isGit ? "in" : "outside"} a work tree, changes follow their files when the user renames the folder`,
    async (t) => {
      const host = new ChangesHost(t);
      mkdirSync(host.path("old"));
      for (const name of ["old/a.txt", "old/b.txt"]) host.write(name, "one\n");
      if (isGit) sh(host, SETUP);
      for (const name of ["old/a.txt", "old/b.txt"]) await host.edit(name, "one\ntwo\n");
      mkdirSync(host.path("new"));
      renameSync(host.path("old"), host.path("new/folder"));
      await host.changes.handlers.changes_refresh({});
      const names = ["new/folder/a.txt", "new/folder/b.txt"];
      t.strictSame(
        [...host.shown.keys()].sort(),
        names.map((name) => host.path(name)),
      );
      for (const name of names) await host.undoesTo(t, name, "one\n");
      t.notOk(existsSync(host.path("old")));
      t.strictSame(host.messages(), []);
    },
  );

t.test("a change of an agent stays listed if its file was not readable at first", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "one\n");
  await host.starts("a.txt");
  host.write("a.txt", "one\ntwo\n", 0);
  await host.ended("a.txt");
  t.match(host.change("a.txt"), { status: "modified" });
  chmodSync(host.path("a.txt"), 0o644);
  await host.changes.handlers.changes_refresh({});
  t.match(host.change("a.txt"), { added: 1, removed: 0, fixed: undefined });
  await host.undoesTo(t, "a.txt", "one\n");
  t.strictSame(host.messages(), []);
});

t.test("undo restores the earlier bytes, whatever has replaced the file", async (t) => {
  const host = new ChangesHost(t);
  host.write("small.txt", "one\n");
  await host.edit("small.txt", Buffer.alloc(9_000_000));
  t.match(host.change("small.txt"), { status: "modified", hunks: [], fixed: undefined });
  await host.edit("small.txt", Buffer.alloc(9_000_001));
  await host.undoesTo(t, "small.txt", "one\n", "of a file that has become too long");
  t.equal(host.change("small.txt"), undefined);

  await host.edit("huge.bin", Buffer.alloc(9_000_000));
  t.match(host.change("huge.bin"), { status: "added", hunks: [] });
  await host.undo("huge.bin");
  t.notOk(existsSync(host.path("huge.bin")), "and a long one that was made goes");
  t.strictSame(host.messages(), []);

  host.write("huge.bin", Buffer.alloc(9_000_000));
  await host.edit("huge.bin", "short\n");
  await host.undo("huge.bin");
  t.match(host.messages(), [/cannot be restored: the file is too long/], "of which nobody knows the bytes");
  t.equal(String(host.read("huge.bin")), "short\n");

  await host.edit("small.txt", "one\ntwo\n");
  await host.edit("small.txt", Buffer.alloc(9_000_000));
  await host.save("small.txt", Buffer.alloc(9_000_002));
  await host.undo("small.txt");
  t.equal(host.read("small.txt").length, 9_000_002, "what the user has written stays");
});

t.test(
  "the next host continues with all changes, but without the texts of files that are not shared",
  async (t) => {
    const first = new ChangesHost(t, undefined, ["*.key"]);
    first.write("a.txt", LATIN1);
    first.write("b.txt", "one\n");
    first.write("c.txt", "one\n");
    first.write("secret.key", "the old secret\n");
    await first.tell({ kind: "turn_started", prompt: "do it" });
    await first.edit("a.txt", Buffer.concat([LATIN1, LATIN1]));
    await first.edit("secret.key", "a secret\n");
    await first.edit("new.txt", "new\n");
    await first.edit("c.txt", undefined);
    await first.starts("b.txt");
    t.equal(
      first.keptIn("changes").length,
      3,
      "without the file that is not shared, and without an unchanged file",
    );
    t.notMatch(first.kept().join(), /a secret|old secret/);
    for (const path of first.keptFiles()) {
      t.equal(statSync(path).mode & 0o777, 0o600);
      t.equal(statSync(dirname(path)).mode & 0o777, 0o700);
    }
    await first.close();

    const next = new ChangesHost(t, first.directory, ["*.key"]);
    await next.settle();
    for (const name of ["a.txt", "new.txt", "c.txt"]) t.same(next.change(name), first.change(name), name);
    const { turn, prompt } = first.change("a.txt") ?? {};
    t.equal(prompt, "do it");
    const entries = next.history.list().map((entry) => [entry.turn, entry.prompt]);
    t.strictSame(entries, Array(4).fill([turn, prompt]));
    for (const name of ["a.txt", "c.txt", "new.txt"]) await next.undo(name);
    t.ok(next.read("a.txt").equals(LATIN1));
    t.equal(String(next.read("c.txt")), "one\n");
    t.notOk(existsSync(next.path("new.txt")));
    t.strictSame(next.keptIn("changes"), []);
  },
);
