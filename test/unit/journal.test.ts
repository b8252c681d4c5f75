import {
  appendFileSync,
  chmodSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { createLog } from "../../src/base/log.ts";
import { createJournal, type Journal, pruneJournals } from "../../src/changes/journal.ts";
import { temporary } from "../support/temporary.ts";

function start(t: Test, file = join(temporary(t), "folder/1.jsonl")) {
  return { file, journal: createJournal(file, createLog()) };
}

/** Returns the values that the next host reads. */
function nextOf(file: string): Promise<unknown[]> {
  return createJournal(file, createLog()).load();
}

async function save(journal: Journal, values: Record<string, unknown>): Promise<void> {
  for (const [key, value] of Object.entries(values)) journal.save(key, value);
  await journal.flush();
}

t.test("the last value for a key is stored, even if it arrives during a write", async (t) => {
  const { file, journal } = start(t);
  const slow = {
    toJSON() {
      const end = performance.now() + 10; // longer than a slice, so that the write pauses
      while (performance.now() < end);
      setImmediate(() => journal.save("key", "new"));
      return "slow";
    },
  };
  await save(journal, { slow, key: "old" });
  await journal.flush();
  t.strictSame((await nextOf(file)).sort(), ["new", "slow"]);
  t.equal(statSync(file).mode & 0o777, 0o600);
});

t.test("a removed value leaves no text in the journal", async (t) => {
  const { file, journal } = start(t);
  await save(journal, { a: "a secret", b: "b" });
  journal.remove("a");
  journal.remove("never saved");
  await journal.flush();
  t.strictSame(await nextOf(file), ["b"]);
  journal.remove("b");
  await journal.flush();
  t.equal(readFileSync(file, "utf8"), "");
  await save(journal, { c: 1 });
  t.strictSame(await nextOf(file), [1]);
});

t.test("the space of replaced values is freed, also if an earlier host wrote the values", async (t) => {
  const { file, journal } = start(t);
  const text = "x".repeat(200_000);
  for (let i = 0; i < 30; i += 1) await save(journal, { text: `${text}${i}`, other: i });
  t.ok(statSync(file).size < 2_000_000, `${statSync(file).size} bytes`);
  t.strictSame(await nextOf(file), [`${text}29`, 29]);
  const next = createJournal(file, createLog()); // has not read the file yet
  for (let i = 0; i < 30; i += 1) await save(next, { text: `${text}${i}` });
  t.ok(statSync(file).size < 2_000_000, `${statSync(file).size} bytes`);
  t.strictSame((await nextOf(file)).sort(), [29, `${text}29`]);
});

t.test("an incomplete line of a journal is skipped, and the next host writes after that line", async (t) => {
  const { file, journal } = start(t);
  await save(journal, { a: 1 });
  appendFileSync(file, '1234567890123\t"a"\t{"c":"d');
  const next = createJournal(file, createLog());
  t.strictSame(await next.load(), [1]);
  await save(next, { e: 2 });
  t.strictSame(await nextOf(file), [1, 2]);
});

t.test("after an incomplete write on a full disk, that value and later values are stored", async (t) => {
  const { file, journal } = start(t);
  await save(journal, { a: 1 });
  chmodSync(file, 0o400);
  await save(journal, { b: 2 });
  chmodSync(file, 0o600);
  appendFileSync(file, '1234567890123\t"b"'); // on a full disk, the beginning of a line is written
  await save(journal, { c: 3 });
  t.strictSame((await nextOf(file)).sort(), [1, 2, 3]);
});

t.test("changes of values on a full disk are written later, and the newest wins", async (t) => {
  const { file, journal } = start(t);
  await save(journal, { a: 1, b: 1, c: 1, d: 1 });
  chmodSync(file, 0o400);
  await save(journal, { a: 2, b: 2 });
  journal.remove("c");
  await save(journal, { b: 3, e: 1 });
  journal.remove("e");
  t.notOk(await journal.flush());
  const stored = journal.stored();
  t.strictSame(await nextOf(file), [1, 1, 1, 1]);
  chmodSync(file, 0o600);
  t.ok(await journal.flush());
  await stored;
  t.strictSame((await nextOf(file)).sort(), [1, 2, 3]);
});

t.test("a value whose write has failed half-way can be removed", async (t) => {
  const { file, journal } = start(t);
  await save(journal, { a: 1 });
  appendFileSync(file, '1234567890123\t"b"\t2\t\n'); // on a full disk, the first of two lines is written
  chmodSync(file, 0o400);
  await save(journal, { b: 2, c: 3 });
  chmodSync(file, 0o600);
  journal.remove("c");
  journal.remove("b");
  await journal.flush();
  t.strictSame(await nextOf(file), [1]);
});

t.test("pending values can be stored at once, also during a write and after a failure", async (t) => {
  const { file, journal } = start(t);
  const long = "x".repeat(200_000); // is written asynchronously
  journal.save("long", long);
  journal.save("a", 1);
  journal.flushSync();
  t.strictSame((await nextOf(file)).sort(), [1, long]);
  await journal.flush();
  chmodSync(file, 0o400);
  await save(journal, { a: 2 });
  journal.save("b", 3);
  journal.flushSync();
  t.strictSame((await nextOf(file)).sort(), [1, long], "which does not throw on a full disk");
  chmodSync(file, 0o600);
  journal.save("a", 4);
  journal.save("b", 3);
  journal.flushSync();
  t.strictSame((await nextOf(file)).sort(), [3, 4, long]);
});

t.test("a closed journal gives up values that cannot be written", async (t) => {
  const { file, journal } = start(t);
  await save(journal, { a: 1 });
  chmodSync(file, 0o400);
  await save(journal, { a: 2 });
  await journal.close();
  chmodSync(file, 0o600);
  await journal.stored();
  await journal.flush();
  t.strictSame(await nextOf(file), [1]);
});

t.test("while writes fail, the newest values are kept up to a limit", async (t) => {
  const { file, journal } = start(t);
  await save(journal, { first: 0 });
  chmodSync(file, 0o400);
  const long = "x".repeat(1000);
  await save(journal, { a: `a${long}`, b: `b${long}`, c: `c${long}` });
  journal.trim(60_000, 2500);
  chmodSync(file, 0o600);
  t.ok(await journal.flush());
  t.strictSame(await nextOf(file), [0, `b${long}`, `c${long}`]);
});

t.test("a journal that was deleted is created again", async (t) => {
  const { file, journal } = start(t);
  await save(journal, { a: 1 });
  rmSync(join(file, ".."), { recursive: true });
  await save(journal, { b: 2 });
  t.strictSame(await nextOf(file), [2]);
});

t.test("old values of a journal are removed by age and by size, the oldest first", async (t) => {
  const { file, journal } = start(t);
  await save(journal, { a: "1", b: "2", c: "3" });
  writeFileSync(file, readFileSync(file, "utf8").replace(/\d+\t"a"/, '1\t"a"'));
  const next = createJournal(file, createLog());
  await next.load();
  next.trim(60_000, 1_000);
  await next.flush();
  t.strictSame(await nextOf(file), ["2", "3"]);
  next.trim(60_000, 25);
  await next.flush();
  t.strictSame(await nextOf(file), ["3"]);
});

t.test("old journals are removed by age and by size, the oldest first", async (t) => {
  const directory = temporary(t);
  const files = ["old", "b", "c", "d", "empty"].map((name) => join(directory, name));
  for (const [hours, file] of [25, 3, 2, 1, 0].map((hours, i) => [hours, files[i] ?? ""] as const)) {
    writeFileSync(file, hours > 0 ? "ten bytes\n" : "");
    utimesSync(file, new Date(), new Date(Date.now() - hours * 3_600_000));
  }
  await pruneJournals(files, 24 * 3_600_000, 25);
  t.strictSame(files.map(existsSync), [false, false, true, true, false]);
});
