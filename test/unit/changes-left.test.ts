/** Tests that a new Neovim continues with the changes of Neovims that have ended. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { platform } from "../../src/system/platform.ts";
import { ChangesHost } from "../support/changes.ts";
import { waitFor } from "../support/wait.ts";

const LATIN1 = Buffer.from("caf\xe9\r\nna\xefve", "latin1");

/** Starts the next Neovim in the same directory. */
function nextOf(t: Test, { directory }: ChangesHost, instance = "2", exclude: string[] = []): ChangesHost {
  return new ChangesHost(t, directory, exclude, undefined, instance);
}

/** Creates the state that a Neovim leaves if it ends with an undecided change of a.txt. */
async function ended(t: Test, instance = "1"): Promise<ChangesHost> {
  const host = new ChangesHost(t, undefined, [], undefined, instance);
  host.write("a.txt", "1\n2\n3\n");
  await host.edit("a.txt", "1\nA\n3\n");
  await host.changes.close();
  return host;
}

/** Changes the times in a journal, so that its values are some days old. */
function age(path: string, days: number): void {
  const at = Date.now() - days * 24 * 3_600_000;
  writeFileSync(path, readFileSync(path, "utf8").replace(/^\d{13}\t/gm, `${at}\t`));
}

t.test("undo is exact after a restart of Neovim, and one message counts the changes", async (t) => {
  const first = new ChangesHost(t);
  first.write("a.txt", LATIN1, 0o751);
  first.write("gone.txt", "gone\n", 0o600);
  first.write("parts.txt", "1\n2\n3\n4\n5\n");
  await first.tell({ kind: "turn_started", prompt: "do it" });
  await first.edit("a.txt", Buffer.concat([LATIN1, LATIN1]));
  await first.edit("gone.txt", undefined);
  await first.edit("new.txt", "new\n");
  await first.edit("parts.txt", "A\n2\nB\n4\nC\n");
  await first.keep("parts.txt", [first.change("parts.txt")?.hunks[0]?.id ?? 0]);
  await first.tell({ kind: "turn_ended" });
  await first.changes.close();

  const next = nextOf(t, first);
  await waitFor(() => next.message(), "the message");
  t.equal(next.message(), "4 unreviewed changes from an earlier session: see :GeminiChanges");
  t.same([...next.shown.keys()], [...first.shown.keys()], "in the same order");
  for (const name of ["a.txt", "gone.txt", "new.txt", "parts.txt"])
    t.same(next.change(name), first.change(name), name);
  t.match(next.change("parts.txt"), { decided: 1, prompt: "do it" });
  for (const name of ["a.txt", "gone.txt", "new.txt", "parts.txt"]) await next.undo(name);
  t.ok(next.read("a.txt").equals(LATIN1));
  t.equal(next.mode("a.txt"), 0o751);
  t.equal(next.mode("gone.txt"), 0o600);
  t.notOk(existsSync(next.path("new.txt")));
  t.equal(String(next.read("parts.txt")), "A\n2\n3\n4\n5\n", "what was kept stays");
  t.strictSame(next.messages(), []);
  await waitFor(() => next.kept().length === 0, "nothing to be left");
});

t.test("edits that the user makes between two Neovims stay", async (t) => {
  const first = await ended(t);
  first.write("a.txt", "mine\n1\nA\n3\n");
  const next = nextOf(t, first);
  await waitFor(() => next.change("a.txt")?.hunks[0]?.line === 3, "the change");
  await next.undoesTo(t, "a.txt", "mine\n1\n2\n3\n");

  const second = await ended(t);
  second.write("a.txt", "1\n2\n3\n");
  const last = nextOf(t, second);
  await last.settle();
  t.equal(last.change("a.txt"), undefined, "they have undone it themselves");
  t.equal(last.message(), undefined);
});

t.test("only one of two new Neovims takes over a change", async (t) => {
  const first = new ChangesHost(t);
  for (let i = 0; i < 20; i += 1) await first.edit(`${i}.txt`, "new\n");
  await first.changes.close();
  const processes = [spawn("sleep", ["60"]), spawn("sleep", ["60"])];
  t.teardown(() => processes.forEach((one) => void one.kill()));
  const now = Math.floor(Date.now() / 1_000);
  const both = processes.map(({ pid }) => nextOf(t, first, `${pid}-${now}`));
  await Promise.all(both.map((one) => one.settle()));
  const paths = both.flatMap(({ shown }) => [...shown.keys()]);
  t.equal(paths.length, 20);
  t.equal(new Set(paths).size, 20);
  await Promise.all(both.map(({ changes }) => changes.close()));
  for (const one of processes) {
    one.kill();
    await once(one, "exit");
  }
  const last = nextOf(t, first, "4");
  await last.settle();
  t.equal(last.shown.size, 20, "and leaves it to the next");
});

t.test("changes of a running Neovim are not taken over, unless its process id was reused", async (t) => {
  const now = Math.floor(Date.now() / 1_000);
  const first = await ended(t, `${process.pid}-${now}`);
  const second = nextOf(t, first);
  await second.settle();
  t.equal(second.shown.size, 0);
  const reused = await ended(t, `${process.pid}-1000`);
  const third = nextOf(t, reused);
  await third.settle();
  t.equal(third.shown.size, 1);
});

for (const hours of [1, -1])
  t.test(
    `changes of a running Neovim are not taken over after the clock has moved by ${hours} h`,
    async (t) => {
      const real = Date.now;
      t.teardown(() => {
        Date.now = real;
      });
      const started = (await platform.startOf(process.pid)) ?? 0;
      // A suspension of the machine has the same effect as a change of the clock.
      Date.now = () => real() + hours * 3_600_000;
      const seconds = Math.floor(started / 1_000) + (hours < 0 ? hours * 3_600 : 0);
      const first = await ended(t, `${process.pid}-${seconds}`);
      const second = nextOf(t, first);
      await second.settle();
      t.equal(second.shown.size, 0);
    },
  );

t.test("changes are taken over when their directory is opened", async (t) => {
  const first = new ChangesHost(t);
  mkdirSync(first.path("other"));
  await first.edit("other/a.txt", "new\n");
  await first.changes.close();
  const next = new ChangesHost(t, first.directory, [], undefined, "2", [first.path("oth")]);
  await next.settle();
  t.equal(next.shown.size, 0);
  await next.changes.opened([first.path("other")]);
  t.match(next.change("other/a.txt"), { status: "added" });
  t.equal(next.message(), "1 unreviewed change from an earlier session: see :GeminiChanges");
});

t.test("one message counts changes and notes, or only notes", async (t) => {
  const first = await ended(t);
  const next = new ChangesHost(t, first.directory, [], undefined, "2", [first.directory], 2);
  await next.settle();
  t.equal(next.message(), "1 unreviewed change and 2 notes from an earlier session: see :GeminiChanges");
  const other = new ChangesHost(t, undefined, [], undefined, "2", undefined, 1);
  await other.settle();
  t.equal(other.message(), "1 note from an earlier session: send them with :GeminiSend --notes");
});

t.test("a file that is no longer shared is not taken over", async (t) => {
  const next = nextOf(t, await ended(t), "2", ["a.txt"]);
  await next.settle();
  t.equal(next.shown.size, 0);
});

t.test(
  "changes are removed after seven days, and the newer of two changes of the same file counts",
  async (t) => {
    const first = await ended(t);
    for (const path of first.keptFiles()) age(path, 8);
    const second = nextOf(t, first);
    await second.settle();
    t.equal(second.shown.size, 0);
    await waitFor(() => second.kept().length === 0, "it to be removed");

    const older = await ended(t);
    for (const path of older.keptFiles()) age(path, 6);
    const newer = new ChangesHost(t, older.directory, [], undefined, "2", [older.path("none")]);
    await newer.edit("a.txt", "1\nA\nB\n");
    await newer.changes.close();
    const next = nextOf(t, older, "3");
    await next.settle();
    t.match(next.change("a.txt"), { hunks: [{ line: 3, count: 1 }] });
    await next.keep("a.txt");
    const isLeft = () => next.kept().some((text) => text.startsWith('{"path"'));
    await waitFor(() => !isLeft(), "the older one to be removed, too");
  },
);

t.test("invalid stored data is ignored", async (t) => {
  const first = await ended(t);
  const [file = ""] = first.keptFiles();
  const start = `${Date.now()}\t${JSON.stringify(first.path("b.txt"))}\t`;
  const texts = ["", "{", start, `${start}{"path":"b`, `${start}{"before":"known"}\t`, `${start}"a text"\t`];
  for (const [i, text] of texts.entries()) writeFileSync(join(dirname(file), `junk${i}.jsonl`), `${text}\n`);
  first.write("state/changes/junk", "no directory\n");
  const next = nextOf(t, first);
  await next.settle();
  t.equal(next.shown.size, 1);
});

t.test("changes of an ended Neovim are not lost if they cannot be stored again", async (t) => {
  const first = await ended(t);
  const [machine = ""] = first.keptFiles().map(dirname);
  mkdirSync(join(machine, "2.jsonl")); // as on a full disk, the next Neovim cannot write its journal
  const next = nextOf(t, first);
  await waitFor(() => next.change("a.txt"), "the change");
  await next.changes.close();
  const last = nextOf(t, first, "3");
  await waitFor(() => last.change("a.txt"), "the change");
  await last.undoesTo(t, "a.txt", "1\n2\n3\n");
});

t.test("changes that are decided after a full disk are not listed again", async (t) => {
  const first = await ended(t);
  const [machine = ""] = first.keptFiles().map(dirname);
  const blocked = join(machine, "2.jsonl");
  mkdirSync(blocked); // as on a full disk, the next Neovim cannot write its journal
  const next = nextOf(t, first);
  await waitFor(() => next.change("a.txt"), "the change");
  await next.edit("b.txt", "b\n");
  await next.keep("a.txt");
  rmdirSync(blocked);
  await next.edit("c.txt", "c\n");
  await next.changes.close();
  const last = nextOf(t, first, "3");
  await waitFor(() => last.change("c.txt"), "the changes");
  await last.settle();
  t.same([...last.shown.keys()], [last.path("b.txt"), last.path("c.txt")]);
});

t.test("a journal that cannot be read is left for its owner", async (t) => {
  const first = await ended(t);
  for (const file of first.keptFiles()) chmodSync(file, 0o200);
  const next = nextOf(t, first);
  await next.settle();
  await next.changes.close();
  for (const file of first.keptFiles()) chmodSync(file, 0o600);
  const last = nextOf(t, first, "3");
  await waitFor(() => last.change("a.txt"), "the change");
});
