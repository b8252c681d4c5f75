import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { hashOf, hashOfPlain, readDiskText, readVersion } from "../../src/system/disk-text.ts";

const folder = mkdtempSync(join(tmpdir(), "gb-text-"));
t.teardown(() => rmSync(folder, { recursive: true }));
const path = join(folder, "a.txt");

t.test("the same bytes have the same hash, whatever the file's date", async (t) => {
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

t.test("reading does not wait for a pipe or device, and skips long files", async (t) => {
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
