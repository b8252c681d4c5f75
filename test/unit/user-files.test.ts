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
import { descendants } from "../support/processes.ts";
import { temporary } from "../support/temporary.ts";
import { waitFor } from "../support/wait.ts";

function start(t: Test) {
  const directory = temporary(t);
  const temporaryFiles = createTemporaryFiles(join(directory, "drafts"));
  mkdirSync(join(directory, "work"));
  const path = (name: string) => join(directory, "work", name);
  return { path, temporaryFiles, notes: join(directory, "drafts"), files: createUserFiles(temporaryFiles) };
}

/**
 * Sets an extended attribute, and an access control list with an additional user (acl(5), in the form of Linux).
 * Leaves out what the file system does not support.
 */
function setAttributes(path: string): void {
  const script = `
import os, struct, sys
entries = [(1, 6, -1), (2, 4, 1234), (4, 4, -1), (16, 4, -1), (32, 0, -1)]
acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
for name, value in (("user.note", b"mine"), ("system.posix_acl_access", acl)):
  try: os.setxattr(sys.argv[1], name, value)
  except OSError: pass`;
  execFileSync("python3", ["-c", script, path]);
}

/** Returns the extended attributes of a file, including its access control list. */
function attributes(path: string): string {
  const script = "import os,sys; print({n: os.getxattr(sys.argv[1], n) for n in os.listxattr(sys.argv[1])})";
  return execFileSync("python3", ["-c", script, path], { encoding: "utf8" });
}

/** Waits until the shell that runs `cp` has ended: it keeps the PATH with which it was started. */
const shellHasEnded = () => waitFor(() => descendants(process.pid).length === 0, "the end of the shell");

/** Runs a script each time before the bridge runs `cp`. The script ends up in the place of `cp`. */
async function beforeCopying(t: Test, directory: string, script: string): Promise<void> {
  const path = process.env["PATH"];
  await shellHasEnded();
  t.teardown(() => {
    process.env["PATH"] = path;
    return shellHasEnded();
  });
  mkdirSync(directory);
  writeFileSync(join(directory, "cp"), `#!/bin/sh\n${script}\nexec /bin/cp "$@"\n`, { mode: 0o755 });
  process.env["PATH"] = `${directory}:${path}`;
}

/** Returns a script that writes a text of some lines to the files that are its arguments, and prints the results. */
function replacing(notes: string, lines: number): string {
  const from = (file: string) => JSON.stringify(join(import.meta.dirname, "../../src/system", file));
  return `
    import { createUserFiles } from ${from("user-files.ts")};
    import { createTemporaryFiles } from ${from("temporary-files.ts")};
    import { readState } from ${from("file-state.ts")};
    const files = createUserFiles(createTemporaryFiles(${JSON.stringify(notes)}));
    for (const path of process.argv.slice(1))
      await files.replace(path, await readState(path), { text: "new\\n".repeat(${lines}) })
        .then(() => console.log("written"), ({ message }) => console.log(message));`;
}

/** Runs a script of {@link replacing} in another process. @param shell commands before the script starts */
function runScript(script: string, paths: readonly string[], shell = ""): string {
  const node = `exec "$0" --import ./scripts/typescript.mjs --input-type=module -e "$@"`;
  return execFileSync("sh", ["-c", `${shell} ${node}`, process.execPath, script, ...paths], {
    encoding: "utf8",
    cwd: process.cwd(),
    stdio: ["ignore", "pipe", "ignore"],
  });
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
    setAttributes(path("a.txt"));
    const attributesBefore = attributes(path("a.txt"));
    const before = statSync(path("a.txt"));
    const now = await files.replace(path("a.txt"), await readState(path("a.txt")), { text: "two\xff\n" });
    t.match(now, { kind: "known", text: "two\xff\n" });
    const after = statSync(path("a.txt"));
    t.equal(after.mode, before.mode);
    t.not(after.ino, before.ino, "it was exchanged as a whole");
    t.equal(attributes(path("a.txt")), attributesBefore);

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
  const script = replacing(notes, 50_000);
  const said = runScript(script, [path("one-name.txt"), path("a.txt")], "trap '' XFSZ; ulimit -f 64;");
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

t.test("a later host removes the temporary file of a killed host, and no other file", async (t) => {
  const { path, notes, temporaryFiles } = start(t);
  writeFileSync(path("a.txt"), "old\n");
  const script = `process.env.HOST_PID = process.pid; ${replacing(notes, 1)}`;
  await beforeCopying(t, path("../bin"), 'kill -KILL "$HOST_PID"; exit');
  t.throws(() => runScript(script, [path("a.txt")]), "the host was killed");
  t.equal(readFileSync(path("a.txt"), "utf8"), "old\n");
  t.equal(readdirSync(path("")).length, 2, "the killed host has left its temporary file");
  const [noted = ""] = readdirSync(notes);
  await temporaryFiles.use(path("b.txt"), async (mine) => {
    for (const draft of [mine, path("precious.txt")]) writeFileSync(draft, "half\n");
    writeFileSync(join(notes, `${Number.parseInt(noted, 10)}.2`), path("precious.txt"));
    await temporaryFiles.removeLeftovers();
    t.ok(existsSync(mine), "a running host keeps its temporary file");
  });
  t.strictSame(readdirSync(path("")).sort(), ["a.txt", "precious.txt"], "files with other names stay");
});

t.test("metadata are neither copied from nor to a file that was swapped meanwhile", async (t) => {
  const { path, files } = start(t);
  writeFileSync(path("../private.txt"), "private\n", { mode: 0o600 });
  const bin = path("../bin");
  const swap = `ln -sf '${path("../private.txt")}' "$draft"`;
  await beforeCopying(t, bin, `draft=$(echo '${path("")}'/.*.gemini-bridge); ${swap}`);
  writeFileSync(path("a.txt"), "old\n");
  chmodSync(path("a.txt"), 0o666);
  const before = await readState(path("a.txt"));
  await t.rejects(files.replace(path("a.txt"), before, { text: "new\n" }), /was not written/);
  t.equal(statSync(path("../private.txt")).mode & 0o777, 0o600);
  t.equal(readFileSync(path("../private.txt"), "utf8"), "private\n");
  t.equal(readFileSync(path("a.txt"), "utf8"), "old\n");

  chmodSync(path("a.txt"), 0o600);
  writeFileSync(
    join(bin, "cp"),
    `#!/bin/sh\nmv '${path("a.txt")}' '${path("../old.txt")}'\necho theirs > '${path("a.txt")}'\nexec /bin/cp "$@"\n`,
  );
  await t.rejects(
    files.replace(path("a.txt"), await readState(path("a.txt")), { text: "new\n" }),
    /was not written/,
  );
  t.equal(readFileSync(path("a.txt"), "utf8"), "theirs\n");
  t.strictSame(readdirSync(path("")), ["a.txt"]);
});
