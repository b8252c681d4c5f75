/** What each CLI of the protocol finds of an editor. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { createAnnouncements } from "../../src/ide/announcements.ts";
import { cleanUpDiscovery } from "../../src/ide/discovery-cleanup.ts";
import { createDiscoveryFile } from "../../src/ide/discovery-file.ts";
import { type Clis, isActive, type Profile, profilesOf, readFileName } from "../../src/ide/profiles.ts";
import { createLog } from "../../src/log.ts";
import { announcement, temporary } from "../support/temporary.ts";

/** A home directory, and the profiles as they are known. */
function start(t: Test, more: Clis = []) {
  const home = temporary(t);
  const before = {
    HOME: process.env["HOME"],
    QWEN_HOME: process.env["QWEN_HOME"],
    PATH: process.env["PATH"],
  };
  Object.assign(process.env, { HOME: home, PATH: "" });
  delete process.env["QWEN_HOME"];
  t.teardown(() => {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
  const known: Clis = [
    { name: "gemini", like: "gemini", cmd: ["gemini"] },
    { name: "qwen", like: "qwen", cmd: ["qwen"] },
    { name: "llxprt", like: "llxprt", cmd: ["llxprt"] },
  ];
  const profiles = profilesOf([...known, ...more]);
  const find = (name: string): Profile => {
    const profile = profiles.find((each) => each.name === name);
    if (!profile) throw new Error(`no ${name}`);
    return profile;
  };
  return { home, profiles, find, qwen: find("qwen") };
}

const read = (path: string) => JSON.parse(readFileSync(path, "utf8"));

t.test("each where it looks, with what it wants to be told", async (t) => {
  const { home, find } = start(t, [
    { name: "ola", like: "qwen", cmd: ["ola"], directory: "~/.ola/ide", env: "OLA_CODE_IDE_" },
  ]);
  const content = { port: 22, workspacePath: "/a:/b", authToken: "secret" };
  const ideInfo = { name: "neovim", displayName: "Neovim" };
  const lock = { ...content, ppid: 12, ideName: "Neovim", ideInfo };
  for (const [name, path, expected] of [
    ["gemini", "gemini/ide/gemini-ide-server-11-22.json", { ...content, ideInfo }],
    ["qwen", ".qwen/ide/22.lock", lock],
    ["ola", ".ola/ide/22.lock", lock],
    ["llxprt", "llxprt/ide/llxprt-ide-server-11-22.json", { ...content, ideInfo }],
  ] as const) {
    const file = createDiscoveryFile(find(name), { pid: 11, editorPid: 12, port: 22, authToken: "secret" });
    t.equal(file.path, join(home, path));
    file.write(["/a", "/b"]);
    t.same(read(file.path), expected, name);
    t.equal(statSync(file.path).mode & 0o777, 0o600);
    file.remove();
    t.notOk(existsSync(file.path));
  }
});

t.test("in the home directory nothing is made for a CLI that is not there", async (t) => {
  const { home, profiles, qwen } = start(t);
  const active = () => profiles.filter(isActive).map(({ name }) => name);
  t.same(active(), ["gemini", "llxprt"]);
  mkdirSync(join(home, "bin"));
  writeFileSync(join(home, "bin/qwen"), "", { mode: 0o755 });
  process.env["PATH"] = join(home, "bin");
  t.same(active(), ["gemini", "qwen", "llxprt"], "its program is there");
  process.env["PATH"] = "";
  mkdirSync(join(home, ".qwen"));
  t.ok(isActive(qwen), "its folder is there");
  process.env["QWEN_HOME"] = join(home, "elsewhere");
  t.notOk(isActive(qwen), "it has another");
});

t.test("its folder may be a link, and must be the user's alone", async (t) => {
  const { home, qwen } = start(t);
  const write = () => createDiscoveryFile(qwen, announcement(1, 2)).write(["/a"]);
  mkdirSync(join(home, "dotfiles"), { mode: 0o755 });
  symlinkSync(join(home, "dotfiles"), join(home, ".qwen"));
  write();
  t.same(readdirSync(join(home, "dotfiles/ide")), ["2.lock"]);
  t.equal(statSync(join(home, "dotfiles/ide")).mode & 0o777, 0o700);
  chmodSync(join(home, "dotfiles"), 0o777);
  t.throws(write, /anyone may rename what is in .*dotfiles; set its sticky bit/);
});

t.test("a directory with a colon is told where it can be", async (t) => {
  const { home, profiles } = start(t);
  const all = createAnnouncements({
    profiles,
    announcement: () => announcement(1, 2),
    log: createLog(),
    failed: (_, error) => {
      throw error;
    },
  });
  t.teardown(all.remove);
  all.publish(["/a:b", "/c"]);
  t.equal(read(join(home, ".qwen/ide/2.lock")).workspacePath, '["/a:b","/c"]');
  t.equal(read(join(home, "gemini/ide/gemini-ide-server-1-2.json")).workspacePath, "/c");
  const { set, unset } = all.variables(["/a:b"]);
  t.match(set, {
    QWEN_CODE_IDE_SERVER_PORT: "2",
    QWEN_CODE_IDE_WORKSPACE_PATH: '["/a:b"]',
    GEMINI_CLI_IDE_WORKSPACE_PATH: "",
    LLXPRT_CODE_IDE_AUTH_TOKEN: "the-secret-token",
  });
  t.ok(unset.includes("QWEN_CODE_IDE_SERVER_STDIO_ARGS"));
});

t.test("only what a dead Neovim left goes", async (t) => {
  const { home, qwen } = start(t);
  const directory = join(home, ".qwen/ide");
  mkdirSync(directory, { recursive: true });
  const dead = 2 ** 22 + 1;
  const ours = { ppid: dead, ideInfo: { name: "neovim" } };
  const files = {
    "1.lock": ours,
    ".1.lock.tmp": {},
    "2.lock": { ...ours, ppid: process.pid },
    "3.lock": { ...ours, ideInfo: { name: "vscode" } },
    "4.lock.bak": ours,
    "5.lock": [],
  };
  const old = new Date(Date.now() - 3_600_000);
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(directory, name), JSON.stringify(content));
    utimesSync(join(directory, name), old, old);
  }
  // It lives, and began after the file: its number is inherited. Made new, the file is of a living one.
  utimesSync(join(directory, "2.lock"), new Date(), new Date());
  await cleanUpDiscovery(qwen);
  t.same(readdirSync(directory).sort(), ["2.lock", "3.lock", "4.lock.bak", "5.lock"]);
});

t.test("a name is read as it is written", async (t) => {
  const { find, qwen } = start(t);
  t.same(readFileName(find("gemini"), "gemini-ide-server-1-22.json"), { pid: 1, port: 22 });
  t.match(readFileName(qwen, "22.lock"), { port: 22 });
  for (const name of ["22xlock", "a22.lock", "22.lock.tmp", "-1.lock", ""])
    t.equal(readFileName(qwen, name), undefined, name);
});
