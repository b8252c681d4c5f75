import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { hashOfPlain } from "../../src/system/disk-text.ts";
import { ChangesHost } from "../support/changes.ts";
import { heldMemory } from "../support/memory.ts";
import { temporary } from "../support/temporary.ts";
import { waitFor } from "../support/wait.ts";

/** Returns the entries of the history, newest first, without ids and times. */
function entries(host: ChangesHost) {
  const entries = host.history.list();
  const known = host.history.read(entries.map(({ id }) => id));
  return entries.map(({ id, kind, prompt, path }) => {
    const { texts } = known.get(id) ?? {};
    return [
      kind,
      prompt,
      path.slice(host.directory.length + 1),
      texts && Buffer.from(texts.before ?? "none", "latin1").toString(),
      texts && Buffer.from(texts.after ?? "none", "latin1").toString(),
    ];
  });
}

async function takeBack(host: ChangesHost, name: string): Promise<void> {
  const [entry] = host.history.list().filter(({ path }) => path === host.path(name));
  await host.changes.handlers.history_undo({ ids: [entry?.id ?? ""] });
}

t.test(
  "proposed, accepted, edited, rejected and written texts are listed by turn in the history",
  async (t) => {
    const host = new ChangesHost(t, undefined, ["*.key"]);
    for (const name of ["a.txt", "b.txt", "c.txt", "d.txt"]) host.write(name, "\uFEFFone\r\ntwo\r\n");
    await host.tell({ kind: "turn_started", prompt: "first" });
    await host.edit("a.txt", "1\n");
    await host.edit("a.txt", "2\n");
    await host.edit("new.txt", "new\n");
    await host.edit("secret.key", "secret\n");
    await host.tell({ kind: "turn_started", prompt: "second" });
    await host.edit("a.txt", "3\n");
    await host.propose(1, "b.txt", "one\n");
    host.history.decided(1, undefined);
    await host.propose(2, "c.txt", "one\n");
    host.history.decided(2, "one\nmine\n");
    await host.starts("c.txt");
    host.changes.agreed(host.path("c.txt"), [hashOfPlain("one\nmine\n")]);
    host.write("c.txt", "\uFEFFone\r\nmine\r\n");
    await host.ended("c.txt");
    await host.propose(3, "d.txt", "three\n");
    const original = "\uFEFFone\r\ntwo\r\n";
    const wanted = [
      ["accepted", "second", "d.txt", original, "\uFEFFthree\r\n"],
      ["edited", "second", "c.txt", original, "\uFEFFone\r\nmine\r\n"],
      ["proposed", "second", "d.txt", original, "\uFEFFthree\r\n"],
      ["rejected", "second", "b.txt", original, "\uFEFFone\r\n"],
      ["written", "first", "a.txt", original, "2\n"],
      ["written", "first", "new.txt", "none", "new\n"],
      ["written", "first", "secret.key", undefined, undefined],
      ["written", "second", "a.txt", "2\n", "3\n"],
    ];
    t.strictSame(entries(host).sort(), wanted.slice(1));
    host.history.decided(3, "three\n");
    await host.close(); // stores also the last decision
    const next = new ChangesHost(t, host.directory, ["*.key"]);
    t.strictSame(
      entries(next).sort(),
      wanted.filter(([kind]) => kind !== "proposed"),
      "also for the next one",
    );
    t.notMatch(host.kept().join(), /secret\n/);

    await takeBack(next, "c.txt");
    t.equal(String(next.read("c.txt")), original, "an accepted one is taken back");
    await takeBack(next, "c.txt");
    await takeBack(next, "secret.key");
    t.match(next.messages(), [
      /c\.txt no longer contains this change/,
      /no longer has the text of this entry/,
    ]);
    next.write("a.txt", "mine\n3\nmine, too\n");
    await takeBack(next, "a.txt");
    t.equal(String(next.read("a.txt")), "mine\n2\nmine, too\n", "and what has come since stays");
    next.write("a.txt", "3, edited\n");
    await takeBack(next, "a.txt");
    t.match(next.messages().at(-1), /because the lines of this change were edited later/);
  },
);

t.test("undoing a write in the history also removes its change", async (t) => {
  const host = new ChangesHost(t);
  await host.edit("new.txt", "new\n");
  await takeBack(host, "new.txt");
  t.throws(() => host.read("new.txt"), { code: "ENOENT" });
  t.equal(host.change("new.txt"), undefined);
});

t.test(
  "undoing a deletion in the history restores the file with its mode, also by the next host",
  async (t) => {
    const host = new ChangesHost(t);
    host.write("private.txt", "one\n", 0o600);
    await host.edit("private.txt", "two\n");
    await host.edit("private.txt", undefined);
    await host.keep("private.txt");
    await host.close();
    const next = new ChangesHost(t, host.directory);
    await takeBack(next, "private.txt");
    t.equal(String(next.read("private.txt")), "one\n");
    t.equal(next.mode("private.txt"), 0o600);
  },
);

t.test("a review of a file with unknown bytes cannot be undone", async (t) => {
  const host = new ChangesHost(t);
  const long = Buffer.alloc(9_000_000, "x");
  const accept = async (review: number, ended: boolean) => {
    host.write("long.txt", long);
    await host.starts("long.txt");
    await host.propose(review, "long.txt", "short\n");
    host.history.decided(review, "short\n");
    host.changes.agreed(host.path("long.txt"), [hashOfPlain("short\n")]);
    host.write("long.txt", "short\n");
    if (ended) await host.ended("long.txt");
    await takeBack(host, "long.txt");
    t.equal(String(host.read("long.txt")), "short\n", "it is neither emptied nor removed");
    t.match(host.messages().at(-1), /the history no longer has the text of this entry/);
  };
  await accept(1, false);
  await accept(2, true);
});

t.test("undoing a later entry of the history does not undo kept changes of the same turn", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "1\n");
  await host.edit("a.txt", "1\n2\n");
  await host.keep("a.txt");
  await host.edit("a.txt", "1\n2\n3\n");
  await host.edit("a.txt", "1\n2\n3\n4\n");
  t.equal(host.history.list().length, 2);
  await takeBack(host, "a.txt");
  t.equal(String(host.read("a.txt")), "1\n2\n");
});

t.test("while an agent edits a file, entries of the file are not undone", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "1\n2\n3\n4\n");
  await host.edit("a.txt", "one\n2\n3\n4\n");
  await host.keep("a.txt");
  const other = { cli: "qwen", session: "2", cwd: host.directory };
  await host.starts("a.txt", other);
  host.write("a.txt", "one\n2\n3\nfour\n");
  await takeBack(host, "a.txt");
  t.match(host.messages(), [/qwen is changing .*a\.txt: answer if the CLI asks you, then try again/]);
  await host.ended("a.txt", other);
  t.match(host.change("a.txt"), { cli: "qwen", added: 1, removed: 1 });
  await takeBack(host, "a.txt");
  await host.undoesTo(t, "a.txt", "one\n2\n3\n4\n");
});

t.test("undoing an entry does not hide what a running command has changed", async (t) => {
  const tool = { kind: "shell", name: "run_shell_command", command: "sleep 5" } as const;
  for (const isKept of [false, true]) {
    const host = new ChangesHost(t);
    host.write("a.txt", "1\n2\n3\n4\n");
    await host.edit("a.txt", "one\n2\n3\n4\n");
    if (isKept) await host.keep("a.txt");
    await host.tell({ kind: "tool_starting", tool });
    host.write("a.txt", "one\n2\n3\nfour\n");
    await takeBack(host, "a.txt");
    t.equal(String(host.read("a.txt")), "1\n2\n3\nfour\n");
    await host.tell({ kind: "tool_ended", tool, failed: false });
    t.match(host.change("a.txt"), { cli: "gemini", together: /others have written/ });
    await host.undoesTo(t, "a.txt", isKept ? "one\n2\n3\n4\n" : "1\n2\n3\n4\n");
  }
});

t.test("the history is listed for a directory that is open through a link", async (t) => {
  const host = new ChangesHost(t);
  await host.edit("a.txt", "one\n");
  const link = join(temporary(t), "link");
  symlinkSync(host.directory, link);
  const shown = await host.changes.handlers.history({ directories: [link] });
  t.match(shown, [{ path: host.path("a.txt") }]);
});

t.test("each tool call is an entry of the history, and its text is not kept in memory", async (t) => {
  const host = new ChangesHost(t);
  const text = "a line of some length\n".repeat(15_000);
  const call = async (number: number) => {
    const agent = { cli: "gemini", session: `neovim 1 ${number}`, cwd: "/" };
    const tool = { kind: "edit", name: "neovim", filePath: host.path("a.txt") };
    await host.tell({ kind: "tool_starting", tool }, agent);
    host.write("a.txt", `${number}${text}`);
    await host.tell({ kind: "tool_ended", tool, failed: false }, agent);
    await host.tell({ kind: "turn_ended" }, agent);
  };
  for (let number = 0; number < 3; number += 1) await call(number);
  host.kept(); // writes all entries
  const before = heldMemory();
  for (let number = 3; number < 33; number += 1) await call(number);
  t.equal(host.history.list().length, 33);
  await waitFor(() => heldMemory() - before < 10 * text.length, "of 30 texts not even ten to be held");
});

t.test("the next Neovim lists an entry of the history for a day", async (t) => {
  const host = new ChangesHost(t);
  await host.edit("a.txt", "one\n");
  await host.edit("b.txt", "two\n");
  await host.close();
  const [file = ""] = host.keptFiles().filter((path) => path.endsWith("lists.json"));
  const lists = JSON.parse(readFileSync(file, "utf8"));
  for (const entry of lists.lists.history)
    entry.at -= (entry.value.path === host.path("a.txt") ? 25 : 23) * 3_600_000;
  writeFileSync(file, JSON.stringify(lists));
  const next = new ChangesHost(t, host.directory, [], false, "2");
  await next.settle();
  t.match(next.history.list(), [{ path: host.path("b.txt") }]);
});

t.test("a pending proposal is stored at once, and its outcome later", async (t) => {
  const host = new ChangesHost(t);
  const kinds = () =>
    (host.keptIn("history") as { value: { kind: string } }[]).map(({ value }) => value.kind);
  await host.propose(1, "a.txt", "one\n");
  t.strictSame(kinds(), ["proposed"]);
  await host.propose(2, "b.txt", "two\n");
  host.history.decided(2, "two\n");
  await host.propose(3, "c.txt", "three\n");
  host.history.closed(3);
  t.strictSame(kinds().sort(), ["accepted", "proposed", "proposed"]);
});

t.test("texts of ended reviews are not kept in memory", async (t) => {
  const host = new ChangesHost(t);
  const text = "a line of some length\n".repeat(50_000);
  const review = async (number: number) => {
    await host.propose(number, `${number}.txt`, `${number}${text}`);
    if (number % 3 === 0) host.history.closed(number);
    else host.history.decided(number, number % 3 === 1 ? undefined : text);
    host.kept(); // writes the entry
  };
  for (let number = 0; number < 3; number += 1) await review(number);
  const before = heldMemory();
  for (let number = 3; number < 33; number += 1) await review(number);
  t.ok(heldMemory() - before < 10 * text.length, "of 30 texts, not even ten");
});
