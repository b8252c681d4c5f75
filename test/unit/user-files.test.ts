/** Tests how files of the user are written: metadata is preserved, and files are unchanged after failures. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { ABSENT, MAX_FILE_BYTES, readState } from "../../src/system/file-state.ts";
import { createTemporaryFiles } from "../../src/system/temporary-files.ts";
import { createUserFiles } from "../../src/system/user-files.ts";
import { temporary } from "../support/temporary.ts";

function start(t: Test) {
  const directory = temporary(t);
  const temporaryFiles = createTemporaryFiles(join(directory, "drafts"));
  mkdirSync(join(directory, "work"));
  const path = (name: string) => join(directory, "work", name);
  return { path, temporaryFiles, notes: join(directory, "drafts"), files: createUserFiles(temporaryFiles) };
}

/** Sets an extended attribute. Returns false if the file system does not support extended attributes. */
function setAttribute(path: string): boolean {
  const script = "import os,sys; os.setxattr(sys.argv[1], 'user.note', b'mine')";
  try {
    execFileSync("python3", ["-c", script, path], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

function attribute(path: string): string {
  const script = "import os,sys; print(os.getxattr(sys.argv[1], 'user.note').decode(), end='')";
  return execFileSync("python3", ["-c", script, path], { encoding: "utf8" });
}

t.test("a file that is too long to be stored is compared byte by byte", async (t) => {
  const { path, files } = start(t);
  const before = `${"x".repeat(MAX_FILE_BYTES)}\n`;
  const expected = { kind: "known", text: before, version: "in its buffer" } as const;
  writeFileSync(path("a.txt"), before);
  await files.replace(path("a.txt"), expected, { text: `one\n${before}` });
  t.ok(readFileSync(path("a.txt"), "latin1") === `one\n${before}`);
  await t.rejects(
    files.replace(path("a.txt"), expected, { text: "" }),
    /another program or user has changed it/,
  );
  t.ok(readFileSync(path("a.txt"), "latin1") === `one\n${before}`, "a longer file is not as expected");
});

t.test(
  "a written file keeps its mode, attributes and names, and always contains the old or the new text",
  async (t) => {
    const { path, files, notes } = start(t);
    writeFileSync(path("a.txt"), "one\n");
    chmodSync(path("a.txt"), 0o6750);
    const hasAttribute = setAttribute(path("a.txt"));
    const before = statSync(path("a.txt"));
    const now = await files.replace(path("a.txt"), await readState(path("a.txt")), { text: "two\xff\n" });
    t.match(now, { kind: "known", text: "two\xff\n" });
    const after = statSync(path("a.txt"));
    t.equal(after.mode, before.mode);
    t.not(after.ino, before.ino, "it was exchanged as a whole");
    if (hasAttribute) t.equal(attribute(path("a.txt")), "mine");

    linkSync(path("a.txt"), path("b.txt"));
    await files.replace(path("a.txt"), now, { text: "a longer text than before\n" });
    t.equal(readFileSync(path("b.txt"), "latin1"), "a longer text than before\n", "by all its names");
    await files.replace(path("b.txt"), await readState(path("b.txt")), { text: "1\n" });
    t.equal(readFileSync(path("a.txt"), "latin1"), "1\n");
    t.strictSame(readdirSync(path("")).sort(), ["a.txt", "b.txt"], "nothing is left beside it");
    t.strictSame(readdirSync(notes), []);
  },
);

t.test("a read-only file is written only on request, and stays read-only", async (t) => {
  const { path, files } = start(t);
  const wanted = { text: "two\n", mayBeReadOnly: true };
  for (const isLinked of [false, true]) {
    writeFileSync(path("a.txt"), "one\n", { mode: 0o444 });
    if (isLinked) linkSync(path("a.txt"), path("b.txt"));
    const before = await readState(path("a.txt"));
    if (process.getuid?.() !== 0)
      await t.rejects(files.replace(path("a.txt"), before, { text: "two\n" }), {
        message: /was not changed, because .*EACCES/,
      });
    const after = await files.replace(path("a.txt"), before, wanted);
    t.match(after, { kind: "known", text: "two\n", metadata: { mode: 0o444 } });
    if (isLinked) t.equal(readFileSync(path("b.txt"), "utf8"), "two\n");
    unlinkSync(path("a.txt"));
  }
});

t.test("a read-only file in a read-only folder is written in place", async (t) => {
  const { path, files } = start(t);
  writeFileSync(path("a.txt"), "one\n", { mode: 0o444 });
  t.teardown(() => chmodSync(path(""), 0o755));
  chmodSync(path(""), 0o555);
  const { ino } = statSync(path("a.txt"));
  const wanted = { text: "two\n", mayBeReadOnly: true };
  await files.replace(path("a.txt"), await readState(path("a.txt")), wanted);
  t.equal(readFileSync(path("a.txt"), "utf8"), "two\n");
  t.match(statSync(path("a.txt")), { mode: 0o100444, ...(process.getuid?.() !== 0 && { ino }) });
});

t.test("files are created with the requested mode, and removed", async (t) => {
  const { path, files } = start(t);
  const { uid, gid } = statSync(path(""));
  const made = await files.replace(path("deep/er/a.txt"), ABSENT, {
    text: "one\n",
    metadata: { mode: 0o600, uid, gid },
  });
  t.equal(statSync(path("deep/er/a.txt")).mode & 0o7777, 0o600);
  for (const folder of ["deep", "deep/er"])
    t.equal(statSync(path(folder)).mode & 0o7777, 0o700, "private, like the file");
  t.equal((await files.replace(path("deep/er/a.txt"), made, { text: undefined })).kind, "absent");
  t.notOk(existsSync(path("deep/er/a.txt")));
  const stranger = { mode: 0o600, uid: uid + 1, gid };
  if (process.getuid?.() !== 0)
    await t.rejects(files.replace(path("b.txt"), ABSENT, { text: "one\n", metadata: stranger }), {
      message: /was not changed, because the file would get another owner or group/,
    });
  t.strictSame(readdirSync(path("")), ["deep"]);
});

t.test("a file that differs from the expected text is not changed", async (t) => {
  const { path, files } = start(t);
  writeFileSync(path("a.txt"), "one\n");
  const seen = await readState(path("a.txt"));
  writeFileSync(path("a.txt"), "theirs\n");
  const refused = { message: /was not written, because another program or user has changed it/ };
  for (const text of ["two\n", undefined])
    await t.rejects(files.replace(path("a.txt"), seen, { text }), refused);
  await t.rejects(files.replace(path("a.txt"), ABSENT, { text: "two\n" }), refused);
  t.equal(readFileSync(path("a.txt"), "utf8"), "theirs\n");
  unlinkSync(path("a.txt"));
  await t.rejects(files.replace(path("a.txt"), seen, { text: "two\n" }), refused);
  t.notOk(existsSync(path("a.txt")), "a deleted file does not come back");
  writeFileSync(path("b.txt"), "one\n");
  symlinkSync(path("b.txt"), path("a.txt"));
  await t.rejects(files.replace(path("a.txt"), seen, { text: "two\n" }), refused);
  t.equal(readFileSync(path("b.txt"), "utf8"), "one\n");
});

t.test("a full disk loses no bytes", async (t) => {
  const { path, notes } = start(t);
  const old = "old\n".repeat(500);
  writeFileSync(path("one-name.txt"), old);
  writeFileSync(path("a.txt"), old);
  linkSync(path("a.txt"), path("two-names.txt"));
  const script = `
    import { createUserFiles } from ${JSON.stringify(join(import.meta.dirname, "../../src/system/user-files.ts"))};
    import { createTemporaryFiles } from ${JSON.stringify(join(import.meta.dirname, "../../src/system/temporary-files.ts"))};
    import { readState } from ${JSON.stringify(join(import.meta.dirname, "../../src/system/file-state.ts"))};
    const files = createUserFiles(createTemporaryFiles(${JSON.stringify(notes)}));
    for (const path of process.argv.slice(1))
      await files.replace(path, await readState(path), { text: "new\\n".repeat(50_000) })
        .then(() => console.log("written"), ({ message }) => console.log(message));`;
  const node = `exec "$0" --import ./scripts/typescript.mjs --input-type=module -e "$1" "$2" "$3"`;
  const said = execFileSync(
    "sh",
    [
      "-c",
      `trap '' XFSZ; ulimit -f 64; ${node}`,
      process.execPath,
      script,
      path("one-name.txt"),
      path("a.txt"),
    ],
    { encoding: "utf8", cwd: process.cwd(), stdio: ["ignore", "pipe", "ignore"] },
  );
  t.equal(said.match(/was not changed, because it cannot be written \(EFBIG\)/g)?.length, 2);
  for (const name of ["one-name.txt", "a.txt", "two-names.txt"])
    t.equal(readFileSync(path(name), "utf8"), old, name);
  t.strictSame(readdirSync(path("")).sort(), ["a.txt", "one-name.txt", "two-names.txt"]);
});

t.test("files are written although the temporary files cannot be noted", async (t) => {
  const { path, files, notes } = start(t);
  writeFileSync(notes, "a file in place of the directory");
  writeFileSync(path("a.txt"), "old\n");
  await files.replace(path("a.txt"), await readState(path("a.txt")), { text: "new\n" });
  await files.replace(path("b.txt"), ABSENT, { text: "new\n" });
  for (const name of ["a.txt", "b.txt"]) t.equal(readFileSync(path(name), "utf8"), "new\n", name);
  t.strictSame(readdirSync(path("")).sort(), ["a.txt", "b.txt"]);
});

t.test("a later host removes the temporary file of a crashed host, and no other file", async (t) => {
  const { path, notes, temporaryFiles } = start(t);
  const gone = Number(execFileSync("sh", ["-c", "echo $$"], { encoding: "utf8" }));
  const left = await temporaryFiles.use(path("a.txt"), async (temporary) => temporary);
  await temporaryFiles.use(path("b.txt"), async (mine) => {
    for (const draft of [left, mine, path("precious.txt")]) writeFileSync(draft, "half\n");
    writeFileSync(join(notes, `${gone}.1`), left);
    writeFileSync(join(notes, `${gone}.2`), path("precious.txt"));
    await temporaryFiles.removeLeftovers();
    t.notOk(existsSync(left));
    t.ok(existsSync(path("precious.txt")), "not what has another name");
    t.ok(existsSync(mine), "nor that of a host that lives");
  });
});
