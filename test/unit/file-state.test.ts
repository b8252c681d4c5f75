/** Tests reading of files: texts, hashes, and files that another process is writing. */
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import t from "tap";
import { hashOf, hashOfPlain, readDiskText, readVersion } from "../../src/system/disk-text.ts";
import { readStableState, readState } from "../../src/system/file-state.ts";
import { makeDirectory } from "../support/sandbox.ts";
import { temporary } from "../support/temporary.ts";
import { waitFor } from "../support/wait.ts";

const folder = makeDirectory(t);
const path = join(folder, "a.txt");

t.test("a file that is being written is read when the write is complete", async (t) => {
  const path = join(temporary(t), "a.txt");
  for (const text of ["", "all of it\n"]) {
    writeFileSync(path, text);
    t.match(await readStableState(path), { kind: "known", text });
    t.ok(Date.now() - statSync(path).mtimeMs >= 29, "it has not changed for a moment");
  }
  rmSync(path);
  const found = readStableState(path);
  writeFileSync(path, "written anew\n");
  t.match(
    await found,
    { kind: "known", text: "written anew\n" },
    "nor is it gone when it is only written anew",
  );
});

t.test("an empty file is read again, although its times are old", async (t) => {
  const path = join(temporary(t), "a.txt");
  writeFileSync(path, "");
  await waitFor(() => Date.now() - statSync(path).ctimeMs > 100, "the file to be old");
  const found = readStableState(path);
  writeFileSync(path, "written after it was truncated\n");
  t.match(await found, { kind: "known", text: "written after it was truncated\n" });
});

t.test("the bytes of a file that changes while it is read are unknown", async (t) => {
  const path = join(temporary(t), "a.txt");
  writeFileSync(path, "one\n".repeat(1_000_000));
  let isReading = true;
  const found = readState(path).finally(() => {
    isReading = false;
  });
  for (; isReading; await nextTurn()) appendFileSync(path, "two\n");
  t.match(await found, { kind: "unknown", reason: /was being written/ });
  t.match(await readState(path), { kind: "known" });
});

t.test("files with the same bytes have the same hash, whatever their dates", async (t) => {
  writeFileSync(path, "one\n");
  const before = await readDiskText(path);
  t.equal(before.hash, hashOf("one\n"));
  t.equal(await readVersion(path), before.version);
  utimesSync(path, 1, 1);
  const after = await readDiskText(path);
  t.equal(after.hash, before.hash);
  t.not(after.version, before.version);
  writeFileSync(path, "two\n");
  t.not((await readDiskText(path)).hash, before.hash);
});

t.test("hashes of plain texts ignore only line breaks and the byte order mark", async (t) => {
  const plain = hashOfPlain("ä\nb\n");
  for (const alike of ["ä\r\nb\r\n", "\uFEFFä\nb\n", "\uFEFFä\r\nb\n"]) t.equal(hashOfPlain(alike), plain);
  t.equal(hashOfPlain(Buffer.from("\uFEFFä\r\nb\n")), plain);
  for (const other of ["ä\nb", "ä\rb\n", "a\nb\n", "ä\n\r\nb\n", "ä\n\uFEFFb\n"])
    t.not(hashOfPlain(other), plain);
});

t.test("reading does not wait for a pipe or a device, and skips long files", async (t) => {
  const special = join(folder, "special");
  execFileSync("mkfifo", [special]);
  t.same((await readDiskText(special)).hash, "no file");
  symlinkSync("/dev/zero", join(folder, "zero"));
  t.same((await readDiskText(join(folder, "zero"))).hash, "no file");
  t.same((await readDiskText(folder)).hash, "no file");
  t.same(await readDiskText(join(folder, "none")), { hash: "ENOENT", version: "ENOENT" });
  truncateSync(path, 65 * 1024 * 1024);
  const long = await readDiskText(path);
  t.equal(long.bytes, undefined);
  t.equal(long.hash, long.version);
});
