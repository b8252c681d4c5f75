/** Tests the discovery file, and the directories that are safe for its token. Uses real owners and user namespaces. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import t from "tap";
import { createDiscoveryFile } from "../../src/discovery/file.ts";
import { DiscoveryError } from "../../src/discovery/private-directory.ts";
import { GEMINI } from "../../src/profiles/profiles.ts";
import { canRun, rootless, runApart } from "../support/apart.ts";
import { announcement, temporary } from "../support/temporary.ts";

const SECRET = "the-secret-token";

/** Returns all files below a directory that contain the token. */
function secrets(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true, encoding: "utf8" })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path, "utf8").includes(SECRET));
}

const write = () => createDiscoveryFile(GEMINI, announcement(1, 2)).write(["/a", "/b"]);

t.test(
  "the discovery file is private and always complete, and is deleted when the bridge stops",
  async (t) => {
    const directory = temporary(t);
    const umask = process.umask(0);
    t.teardown(() => process.umask(umask));
    const file = createDiscoveryFile(GEMINI, announcement(11, 22));
    t.equal(file.path, join(directory, "gemini", "ide", "gemini-ide-server-11-22.json"));
    file.write(["/a", "/b"]);
    t.same(JSON.parse(readFileSync(file.path, "utf8")), {
      port: 22,
      workspacePath: "/a:/b",
      authToken: SECRET,
      ideInfo: { name: "neovim", displayName: "Neovim (a)" },
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
  },
);

t.test("a directory that is unsafe for the token is refused with advice", async (t) => {
  const cases: [name: string, prepare: (directory: string) => void, message: RegExp][] = [
    [
      "missing",
      (directory) => rmSync(directory, { recursive: true }),
      /does not exist; create it, or set TMPDIR/,
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
      /is not a directory; remove it/,
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
      /remove the directory|set TMPDIR to another/,
    ],
    [
      "a directory in the place of the draft",
      (directory) =>
        mkdirSync(join(directory, "gemini/ide/.gemini-ide-server-1-2.json.tmp/x"), { recursive: true }),
      /remove the directory|set TMPDIR to another/,
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

t.test("a directory of another user is refused", async (t) => {
  const directory = temporary(t);
  mkdirSync(join(directory, "gemini"), { mode: 0o777 });
  const real = process.getuid;
  if (!real) throw new Error("no users here");
  t.teardown(() => {
    process.getuid = real;
  });
  // Changes only the reported user id, so that the current user seems to be another user.
  process.getuid = () => real() + 1;
  t.throws(write, { message: /belongs to another user; set TMPDIR to a directory of your own/ });
  process.env["TMPDIR"] = "/"; // belongs to root and may be trusted
  process.getuid = () => 54_321;
  t.throws(() => createDiscoveryFile(GEMINI, announcement(1, 2)).write([]), DiscoveryError);
  process.env["TMPDIR"] = directory;
  t.same(secrets(directory), []);
});

t.test("a link with the name of the file is replaced, not followed", async (t) => {
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

t.test("a directory of the user that others can write to is closed to them", async (t) => {
  const directory = temporary(t);
  mkdirSync(join(directory, "gemini", "ide"), { recursive: true });
  for (const name of ["gemini/ide", "gemini"]) chmodSync(join(directory, name), 0o777);
  write();
  for (const name of ["gemini", "gemini/ide"]) t.equal(statSync(join(directory, name)).mode & 0o777, 0o700);
});

const writeToken = () => createDiscoveryFile(GEMINI, announcement(1, 2)).write(["/a"]);

t.test("a directory that its group may write to is refused, unless the sticky bit is set", async (t) => {
  const directory = temporary(t);
  for (const mode of [0o770, 0o720, 0o775]) {
    chmodSync(directory, mode);
    t.throws(
      writeToken,
      { name: "DiscoveryError", message: /the group of .* may rename files there; .*chmod g-w/ },
      mode.toString(8),
    );
    t.same(readdirSync(directory), []);
  }
  chmodSync(directory, 0o1770);
  writeToken();
  t.equal(statSync(join(directory, "gemini", "ide")).mode & 0o777, 0o700);
});

t.test("a directory of root is accepted in a rootless container, where root is unknown", async (t) => {
  const overflow = Number(readOr("/proc/sys/kernel/overflowuid", "65534"));
  const script = `
    const { statSync, existsSync } = require("node:fs");
    const said = [String(statSync(process.env.TMPDIR).uid)];
    const file = it.createDiscoveryFile(${JSON.stringify(GEMINI)}, ${JSON.stringify(announcement(1, 2))});
    try { file.write(["/a"]); said.push(existsSync(file.path) ? "written" : "not there"); file.remove(); }
    catch (error) { said.push(error.message); }
    console.log(said.join(" "));`;
  const run = (TMPDIR: string) =>
    runApart(temporary(t), "src/discovery/file.ts", script, { by: rootless, env: { TMPDIR } });
  if (!canRun(rootless)) return t.comment("ordinary users have no namespaces here");
  t.notMatch(await run("/tmp"), /\/tmp belongs to another user/, "it has the sticky bit");
  t.match(await run("/"), new RegExp(`^${overflow} / belongs to another user`));
});

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return otherwise;
  }
}
