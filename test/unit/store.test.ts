/** Tests the store on a real file system: restarts, damage, full disks, limits, and the take-over of ended Neovims. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import * as z from "zod";
import { createLog, type Log } from "../../src/base/log.ts";
import { createStore } from "../../src/store/store.ts";
import { machineName } from "../../src/system/container.ts";
import { platform } from "../../src/system/platform.ts";
import { temporary } from "../support/temporary.ts";
import { waitFor } from "../support/wait.ts";

const Value = z.object({ name: z.string() });
const DAY_MS = 24 * 60 * 60 * 1_000;
const LATIN1 = Buffer.from("caf\xe9\0\r\n", "latin1").toString("latin1");

/** A host of one Neovim, with one list. */
function start(
  t: Test,
  directory = temporary(t),
  instance = "1",
  limits: { maxAge?: number; maxSize?: number } = {},
) {
  const warnings: string[] = [];
  const log: Log = { ...createLog(), warn: (message) => void warnings.push(message) };
  const store = createStore({ directory, instance, log });
  t.teardown(() => store.close());
  const list = store.list({ name: "values", schema: Value, maxAge: DAY_MS, maxSize: 1_000, ...limits });
  const folder = join(directory, "store", machineName(), instance);
  return { directory, store, list, folder, warnings, keys: () => list.entries().map(({ key }) => key) };
}

/** Creates what a Neovim has stored when it ends. */
async function ended(t: Test, directory: string, instance: string, keys: readonly string[], open = ["/w"]) {
  const one = start(t, directory, instance);
  one.store.opened(open);
  for (const key of keys) one.list.set(key, { name: `${key} of ${instance}` }, { text: `text of ${key}` });
  await one.store.close();
  await delay(2); // the entries of the next Neovim are newer
  return one;
}

function textFiles(folder: string): string[] {
  const texts = join(folder, "texts");
  return existsSync(texts) ? readdirSync(texts) : [];
}

/** Sets the time of all entries in a folder, and of the last write. */
function age(folder: string, days: number): void {
  const file = join(folder, "lists.json");
  const at = Date.now() - days * DAY_MS;
  writeFileSync(file, readFileSync(file, "utf8").replace(/"at":\d+/g, `"at":${at}`));
  utimesSync(file, at / 1_000, at / 1_000);
}

t.test("values and the exact bytes of texts survive a restart, in the order of their keys", async (t) => {
  const { store, list, directory } = start(t);
  list.set("a", { name: "old" }, { before: LATIN1, after: "" });
  list.set("b", { name: "b" });
  list.set("a", { name: "new" }, { before: LATIN1, after: "x" });
  t.strictSame(list.texts("a"), { before: LATIN1, after: "x" }, "before the write");
  await store.close();
  t.strictSame(list.texts("a"), { before: LATIN1, after: "x" }, "after the write");

  const next = start(t, directory);
  const entries = next.list.entries().map(({ key, value }) => [key, value]);
  t.strictSame(entries, [
    ["a", { name: "new" }],
    ["b", { name: "b" }],
  ]);
  t.strictSame(next.list.texts("a"), { before: LATIN1, after: "x" });
  t.strictSame(next.list.texts("b"), {});
  t.equal(next.list.texts("c"), undefined);
});

t.test("a text is written once, and removed with the last entry that refers to it", async (t) => {
  const { store, list, folder } = start(t);
  list.set("a", { name: "a" }, { text: "same", other: "only a" });
  list.set("b", { name: "b" }, { text: "same" });
  store.storeNow();
  t.equal(textFiles(folder).length, 2);
  list.delete("a");
  store.storeNow();
  t.equal(textFiles(folder).length, 1);
  t.strictSame(list.texts("b"), { text: "same" });
  list.delete("b");
  list.delete("unknown");
  store.storeNow();
  t.notOk(existsSync(folder), "nothing is left of an empty store");
});

t.test("only the user can read what is stored", async (t) => {
  const { store, list, folder } = start(t);
  list.set("a", { name: "a" }, { text: "secret" });
  store.storeNow();
  const modes = (paths: string[]) => paths.map((path) => lstatSync(path).mode & 0o777);
  t.strictSame(
    modes([dirname(dirname(folder)), dirname(folder), folder, join(folder, "texts")]),
    [0o700, 0o700, 0o700, 0o700],
  );
  const files = [join(folder, "lists.json"), ...textFiles(folder).map((name) => join(folder, "texts", name))];
  t.strictSame(modes(files), [0o600, 0o600]);
});

t.test("many changes cause one write in a second", async (t) => {
  const { list, folder } = start(t, undefined, "1", { maxSize: 1_000_000 });
  const file = join(folder, "lists.json");
  list.set("first", { name: "first" });
  await waitFor(() => existsSync(file), "the first write, at once");
  const first = lstatSync(file);
  for (let i = 0; i < 900; i += 1) list.set(`file ${i}`, { name: "x" }, { text: `text ${i}` });
  await waitFor(() => lstatSync(file).ino !== first.ino, "the second write");
  t.ok(lstatSync(file).mtimeMs - first.mtimeMs > 900, "a second later");
  t.equal(JSON.parse(readFileSync(file, "utf8")).lists.values.length, 901);
  t.equal(textFiles(folder).length, 900);
});

t.test("a long list is written in slices, and completely if the process ends meanwhile", async (t) => {
  const { list, folder, store } = start(t, undefined, "1", { maxSize: 1_000_000 });
  const file = join(folder, "lists.json");
  list.set("first", { name: "first" });
  await waitFor(() => existsSync(file), "the first write, at once");
  for (let i = 0; i < 2_000; i += 1) list.set(`file ${i}`, { name: "x".repeat(500) }, { text: `text ${i}` });
  while (textFiles(folder).length === 0) await delay(1); // sees the state after each slice
  t.ok(textFiles(folder).length < 2_000, "the host can do other work before all texts are written");
  list.delete("file 0");
  list.set("last", { name: "last" }, { text: "last" });
  store.storeNow();
  const { values } = JSON.parse(readFileSync(file, "utf8")).lists;
  t.equal(values.length, 2_001);
  t.equal(values.at(-1).key, "last");
  t.equal(textFiles(folder).length, 2_000);
  await store.close();
  t.equal(JSON.parse(readFileSync(file, "utf8")).lists.values.length, 2_001);
});

t.test("a crash in the middle of a write leaves the earlier state, and no rest", async (t) => {
  const { store, list, folder, directory } = start(t);
  list.set("a", { name: "a" }, { text: "a" });
  store.storeNow();
  writeFileSync(join(folder, "lists.json.tmp"), '{"version":1,"lis');
  writeFileSync(join(folder, "texts", "f".repeat(64)), "of an entry that was not written");
  writeFileSync(join(folder, "texts", `${"e".repeat(64)}.tmp`), "inco");
  const next = start(t, directory);
  t.strictSame(next.keys(), ["a"]);
  next.list.set("b", { name: "b" });
  next.store.storeNow();
  t.equal(textFiles(folder).length, 1);
  t.notOk(existsSync(join(folder, "lists.json.tmp")));
});

t.test("damaged lists, values and texts are left out", async (t) => {
  const { store, list, folder, directory } = start(t);
  list.set("a", { name: "a" }, { text: "text of a" });
  list.set("b", { name: "b" });
  store.storeNow();
  const file = join(folder, "lists.json");
  const [text = ""] = textFiles(folder);
  truncateSync(join(folder, "texts", text), 3);
  writeFileSync(file, readFileSync(file, "utf8").replace('{"name":"b"}', '{"name":1}'));
  const next = start(t, directory);
  t.strictSame(next.keys(), ["a"]);
  t.equal(next.list.texts("a"), undefined);
  next.list.set("c", { name: "c" }, { text: "text of a" });
  next.store.storeNow();
  t.strictSame(next.list.texts("a"), { text: "text of a" }, "the same text is written again");

  for (const content of ['{"version":1', '{"version":2,"directories":[],"lists":{}}']) {
    writeFileSync(file, content);
    t.strictSame(start(t, directory).keys(), [], content);
  }
});

t.test("while the disk is full, nothing is lost, and the log has one line", async (t) => {
  const { store, list, folder, directory, warnings } = start(t);
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o500);
  t.teardown(() => chmodSync(folder, 0o700));
  list.set("a", { name: "a" }, { text: "text" });
  await waitFor(() => warnings.length > 0, "the log line");
  list.set("b", { name: "b" }, { text: "b" });
  store.storeNow();
  t.strictSame(list.texts("a"), { text: "text" });
  t.strictSame(start(t, directory).keys(), []);
  chmodSync(folder, 0o700);
  await store.close();
  const next = start(t, directory);
  t.strictSame(next.keys(), ["a", "b"]);
  t.strictSame(next.list.texts("a"), { text: "text" });
  t.equal(warnings.length, 1);
});

t.test("entries are removed that are too old, and the oldest ones that do not fit", async (t) => {
  const { store, list, folder, directory, keys } = start(t);
  list.set("old", { name: "old" }, { text: "old" });
  store.storeNow();
  age(folder, 2);
  t.strictSame(start(t, directory).keys(), []);
  list.delete("old");
  const tick = async () => {
    const now = Date.now();
    await waitFor(() => Date.now() > now, "the next millisecond");
  };
  for (const key of ["a", "b", "c"]) {
    list.set(key, { name: key }, { text: key.repeat(400) });
    await tick();
  }
  list.set("large", { name: "large" }, { text: "x".repeat(300) });
  store.storeNow();
  t.strictSame(keys(), ["c", "large"]);
  t.equal(textFiles(folder).length, 2);
});

t.test("a new Neovim takes over what ended Neovims with the same directory have stored", async (t) => {
  const first = await ended(t, temporary(t), "1", ["a", "both"]);
  const { directory } = first;
  const second = await ended(t, directory, "2", ["both"], ["/w", "/other"]);
  const elsewhere = await ended(t, directory, "3", ["elsewhere"], ["/elsewhere"]);
  const next = start(t, directory, "4");
  next.list.set("mine", { name: "mine" });
  await next.store.takeOver(["/w"]);
  const names = Object.fromEntries(next.list.entries().map(({ key, value }) => [key, value.name]));
  t.strictSame(names, { mine: "mine", both: "both of 2", a: "a of 1" }, "the newest value wins");
  t.strictSame(next.list.texts("a"), { text: "text of a" });
  await next.store.close();
  t.strictSame(readdirSync(dirname(first.folder)).sort(), ["3", "4"]);
  t.notOk(existsSync(second.folder));
  t.strictSame(start(t, directory, "4").list.texts("a"), { text: "text of a" });

  const other = start(t, directory, "5");
  await other.store.takeOver(["/elsewhere"]);
  t.strictSame(other.keys(), ["elsewhere"], "what belongs to other directories waits for them");
  t.notOk(existsSync(elsewhere.folder));
});

t.test("only one of several new Neovims takes a folder", async (t) => {
  const { directory } = await ended(t, temporary(t), "1", ["a", "b"]);
  const all = ["2", "3", "4"].map((instance) => start(t, directory, instance));
  await Promise.all(all.map(({ store }) => store.takeOver(["/w"])));
  const found = all.filter(({ keys }) => keys().length > 0);
  t.equal(found.length, 1);
  t.strictSame(found[0]?.list.texts("a"), { text: "text of a" });
});

t.test("a folder is not lost if the host ends before it has stored what it took over", async (t) => {
  const { directory, folder } = await ended(t, temporary(t), "1", ["a"]);
  const machine = dirname(folder);
  renameSync(folder, join(machine, "2+0a1b2c3d")); // the first step of a host of Neovim 2
  const again = start(t, directory, "2");
  await again.store.takeOver(["/another"]);
  t.strictSame(again.keys(), ["a"]);
  await again.store.close();
  t.strictSame(readdirSync(machine), ["2"]);
});

t.test("the folder of a running Neovim stays, also if a later process has its id", async (t) => {
  const child = spawn("sleep", ["60"]);
  t.teardown(() => child.kill());
  const { pid = 0 } = child;
  const began = (await platform.startOf(pid)) ?? 0;
  const running = `${pid}-${Math.round(began / 1_000)}`;
  const earlier = `${pid}-${Math.round(began / 1_000) - 3_600}`;
  const { directory } = await ended(t, temporary(t), running, ["running"]);
  await ended(t, directory, earlier, ["earlier"]);
  const next = start(t, directory, "2");
  await next.store.takeOver(["/w"]);
  t.strictSame(next.keys(), ["earlier"]);
  child.kill();
  await once(child, "exit");
  await next.store.takeOver(["/w"]);
  t.strictSame(next.keys(), ["earlier", "running"]);
});

t.test("folders of ended Neovims are removed after 7 days, also those of other machines", async (t) => {
  const { directory, folder: old } = await ended(t, temporary(t), "1", ["a"], ["/elsewhere"]);
  const { folder: young } = await ended(t, directory, "2", ["a"], ["/elsewhere"]);
  age(old, 8);
  age(young, 6);
  const others = ["old", "young"].map((name) => join(directory, "store/other", name));
  for (const [i, path] of others.entries()) {
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, "lists.json"), '{"version":1,"directories":["/w"],"lists":{}}');
    age(path, 8 - 2 * i);
  }
  const next = start(t, directory, "3");
  await next.store.takeOver(["/w"]);
  t.strictSame([old, young, ...others].map(existsSync), [false, true, false, true]);
});

t.test("the oldest folders of ended Neovims are removed if all together are too large", async (t) => {
  const directory = temporary(t);
  const folders: string[] = [];
  for (const [i, instance] of ["1", "2", "3"].entries()) {
    const { folder } = await ended(t, directory, instance, ["a"], ["/elsewhere"]);
    const file = join(folder, "lists.json");
    writeFileSync(file, readFileSync(file, "utf8").replace(/"size":\d+/, '"size":200000000'));
    age(folder, 3 - i);
    folders.push(folder);
  }
  await start(t, directory, "4").store.takeOver(["/w"]);
  t.strictSame(folders.map(existsSync), [false, true, true]);
});

t.test("a store that is closed twice, or ends after it was closed, writes nothing more", async (t) => {
  const { store, list, folder } = start(t);
  list.set("a", { name: "a" });
  await store.close();
  const { mtimeMs } = lstatSync(join(folder, "lists.json"));
  await store.close();
  store.storeNow();
  t.equal(lstatSync(join(folder, "lists.json")).mtimeMs, mtimeMs);
});
