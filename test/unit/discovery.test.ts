import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { createDiscoveryFile, DiscoveryError } from "../../src/ide/discovery.ts";
import { removeLeftovers } from "../../src/ide/leftovers.ts";

const SECRET = "the-secret-token";

/** A temporary directory that `os.tmpdir()` answers for the time of a test. */
function temporary(t: Test): string {
  const before = process.env["TMPDIR"];
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "gb-")));
  process.env["TMPDIR"] = directory;
  t.teardown(() => {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
    chmodSync(directory, 0o700);
    rmSync(directory, { recursive: true, force: true });
  });
  return directory;
}

/** Every file below a directory that holds the token. */
function secrets(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true, encoding: "utf8" })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path, "utf8").includes(SECRET));
}

const write = () => createDiscoveryFile(1, 2, SECRET).write(["/a", "/b"]);

t.test("the file is the user's alone, whole at any moment, and gone when it is removed", async (t) => {
  const directory = temporary(t);
  const umask = process.umask(0);
  t.teardown(() => process.umask(umask));
  const file = createDiscoveryFile(11, 22, SECRET);
  t.equal(file.path, join(directory, "gemini", "ide", "gemini-ide-server-11-22.json"));
  file.write(["/a", "/b"]);
  t.same(JSON.parse(readFileSync(file.path, "utf8")), {
    port: 22,
    workspacePath: "/a:/b",
    authToken: SECRET,
    ideInfo: { name: "neovim", displayName: "Neovim" },
  });
  t.equal(statSync(file.path).mode & 0o777, 0o600);
  for (const name of ["gemini", "gemini/ide"]) t.equal(statSync(join(directory, name)).mode & 0o777, 0o700);
  const inode = statSync(file.path).ino;
  file.write(["/c"]);
  t.not(statSync(file.path).ino, inode, "a new file takes the place of the old one");
  t.same(readdirSync(join(directory, "gemini", "ide")), ["gemini-ide-server-11-22.json"]);
  file.remove();
  file.remove();
  t.same(readdirSync(join(directory, "gemini", "ide")), []);
});

t.test("a place where the token is not safe is refused, with what to do", async (t) => {
  const cases: [name: string, prepare: (directory: string) => void, message: RegExp][] = [
    [
      "missing",
      (directory) => rmSync(directory, { recursive: true }),
      /does not exist; make it, or set TMPDIR/,
    ],
    [
      "a relative path",
      () => {
        process.env["TMPDIR"] = "tmp";
      },
      /must be an absolute path/,
    ],
    [
      "a file for the directory",
      (directory) => writeFileSync(join(directory, "gemini"), ""),
      /is no directory; remove it/,
    ],
    [
      "a planted link for the directory",
      (directory) => {
        mkdirSync(join(directory, "elsewhere"));
        symlinkSync(join(directory, "elsewhere"), join(directory, "gemini"));
      },
      /is a symbolic link; remove it/,
    ],
    [
      "a planted link for the inner directory",
      (directory) => {
        mkdirSync(join(directory, "elsewhere"));
        mkdirSync(join(directory, "gemini"));
        symlinkSync(join(directory, "elsewhere"), join(directory, "gemini", "ide"));
      },
      /is a symbolic link; remove it/,
    ],
    [
      "open to all without the sticky bit",
      (directory) => chmodSync(directory, 0o777),
      /anyone may rename .*chmod \+t/,
    ],
    [
      "a directory in the place of the file",
      (directory) =>
        mkdirSync(join(directory, "gemini/ide/gemini-ide-server-1-2.json/x"), { recursive: true }),
      /is in its place: remove it|set TMPDIR to another/,
    ],
    [
      "a directory in the place of the draft",
      (directory) =>
        mkdirSync(join(directory, "gemini/ide/.gemini-ide-server-1-2.json.tmp/x"), { recursive: true }),
      /is in its place: remove it|set TMPDIR to another/,
    ],
  ];
  for (const [name, prepare, message] of cases) {
    await t.test(name, async (t) => {
      const directory = temporary(t);
      prepare(directory);
      t.throws(write, { name: "DiscoveryError", message });
      if (existsSync(directory)) t.same(secrets(directory), []);
      else mkdirSync(directory);
    });
  }
});

t.test("what others own is refused", async (t) => {
  const directory = temporary(t);
  mkdirSync(join(directory, "gemini"), { mode: 0o777 });
  const real = process.getuid;
  if (!real) throw new Error("no users here");
  t.teardown(() => {
    process.getuid = real;
  });
  // The other user is this one: nothing but the system's own answer to who we are is changed.
  process.getuid = () => real() + 1;
  t.throws(write, { message: /belongs to another user; set TMPDIR to a directory of your own/ });
  process.env["TMPDIR"] = "/"; // root's, which may be trusted
  process.getuid = () => 54_321;
  t.throws(() => createDiscoveryFile(1, 2, SECRET).write([]), DiscoveryError);
  process.env["TMPDIR"] = directory;
  t.same(secrets(directory), []);
});

t.test("a link in the place of the file is replaced, not followed", async (t) => {
  const directory = temporary(t);
  const target = join(directory, "target");
  writeFileSync(target, "untouched", { mode: 0o644 });
  mkdirSync(join(directory, "gemini", "ide"), { recursive: true });
  for (const name of ["gemini-ide-server-1-2.json", ".gemini-ide-server-1-2.json.tmp"])
    symlinkSync(target, join(directory, "gemini", "ide", name));
  write();
  t.equal(readFileSync(target, "utf8"), "untouched");
  t.ok(lstatSync(join(directory, "gemini", "ide", "gemini-ide-server-1-2.json")).isFile());
});

t.test("a directory of ours that others may write to is closed to them", async (t) => {
  const directory = temporary(t);
  mkdirSync(join(directory, "gemini", "ide"), { recursive: true });
  for (const name of ["gemini/ide", "gemini"]) chmodSync(join(directory, name), 0o777);
  write();
  for (const name of ["gemini", "gemini/ide"]) t.equal(statSync(join(directory, name)).mode & 0o777, 0o700);
});

t.test("leftovers of dead editors are removed, and nothing else", async (t) => {
  const directory = join(temporary(t), "gemini", "ide");
  mkdirSync(directory, { recursive: true });
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const address = server.address();
  const live = typeof address === "object" && address ? address.port : 0;
  const dead = 2 ** 22 + 1; // above the highest process id of Linux and macOS
  const content = (name: string) => JSON.stringify({ port: 1, ideInfo: { name, displayName: "" } });
  const ours = content("neovim");
  const files: [name: string, content: string, stays: boolean][] = [
    [`gemini-ide-server-${dead}-1.json`, ours, false],
    [`gemini-ide-server-${dead + 1}-1.json`, JSON.stringify({ ...JSON.parse(ours), more: true }), false],
    [`.gemini-ide-server-${dead}-1.json.tmp`, '{"port', false],
    [`gemini-ide-server-${dead}-${live}.json`, ours, true],
    [`.gemini-ide-server-${dead}-${live}.json.tmp`, ours, true],
    [`gemini-ide-server-${process.pid}-1.json`, ours, true],
    [`gemini-ide-server-${dead}-2.json`, content("vscode"), true],
    [`gemini-ide-server-${dead}-3.json`, "not JSON", true],
    [`gemini-ide-server-${dead}-4.json`, "", true],
    [`gemini-ide-server-${dead}-5.json.bak`, ours, true],
    [`gemini-ide-server-99999999999999999999999-1.json`, ours, true],
    [`gemini-ide-server-x-1.json`, ours, true],
    [`.gemini-ide-server-${dead}-5.json`, ours, true],
    ["notes.txt", ours, true],
  ];
  for (const [name, text] of files) writeFileSync(join(directory, name), text);
  mkdirSync(join(directory, `gemini-ide-server-${dead}-6.json`));
  writeFileSync(join(directory, "target"), ours);
  symlinkSync(join(directory, "target"), join(directory, `gemini-ide-server-${dead}-7.json`));
  await removeLeftovers();
  const stay = files.filter(([, , stays]) => stays).map(([name]) => name);
  const also = [`gemini-ide-server-${dead}-6.json`, `gemini-ide-server-${dead}-7.json`, "target"];
  t.same(readdirSync(directory).sort(), [...stay, ...also].sort());

  writeFileSync(join(directory, `gemini-ide-server-${dead}-1.json`), ours);
  const real = process.getuid;
  t.teardown(() => {
    if (real) process.getuid = real;
  });
  process.getuid = () => (real?.() ?? 0) + 1;
  await removeLeftovers();
  t.ok(existsSync(join(directory, `gemini-ide-server-${dead}-1.json`)), "another user's file stays");
});
