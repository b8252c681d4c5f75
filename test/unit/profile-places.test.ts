/** Tests where files for CLIs are written, and obstacles at these places. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import t from "tap";
import { createLog } from "../../src/base/log.ts";
import { createAnnouncements } from "../../src/discovery/announcements.ts";
import { createDiscoveryFile } from "../../src/discovery/file.ts";
import { directoryOf, isActive } from "../../src/profiles/discovery-paths.ts";
import { read, startProfiles } from "../support/profiles.ts";
import { announcement } from "../support/temporary.ts";

function linkToFile(home: string): void {
  writeFileSync(join(home, "file"), "");
  symlinkSync("file", join(home, ".qwen"));
}

function fileCalledIde(home: string): void {
  mkdirSync(join(home, ".qwen"));
  writeFileSync(join(home, ".qwen/ide"), "");
}

function linkCalledIde(home: string): void {
  mkdirSync(join(home, ".qwen"));
  symlinkSync(home, join(home, ".qwen/ide"));
}

t.test("nothing is created in the home directory for a CLI that is not installed", async (t) => {
  const { home, profiles, qwen } = startProfiles(t);
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

t.test("the folder of a CLI may be a link, and must be private", async (t) => {
  const { home, qwen } = startProfiles(t);
  const write = () => createDiscoveryFile(qwen, announcement(1, 2)).write(["/a"]);
  mkdirSync(join(home, "dotfiles"), { mode: 0o755 });
  symlinkSync(join(home, "dotfiles"), join(home, ".qwen"));
  write();
  t.same(readdirSync(join(home, "dotfiles/ide")), ["2.lock"]);
  t.equal(statSync(join(home, "dotfiles/ide")).mode & 0o777, 0o700);
  chmodSync(join(home, "dotfiles"), 0o777);
  t.throws(write, /anyone may rename files in .*dotfiles; set its sticky bit/);
});

t.test("a CLI's folder that cannot be used is reported and does not affect other CLIs", async (t) => {
  const places: [what: string, make: (home: string) => unknown, says: RegExp][] = [
    [
      "a file",
      (home) => writeFileSync(join(home, ".qwen"), ""),
      /\.qwen is neither a directory nor a link to one; remove it$/,
    ],
    ["a link to a file", linkToFile, /\.qwen is neither a directory nor a link to one; remove it$/],
    [
      "a link that leads nowhere",
      (home) => symlinkSync("gone", join(home, ".qwen")),
      /\.qwen is neither a directory/,
    ],
    ["a file called ide", fileCalledIde, /\.qwen\/ide is not a directory; remove it/],
    ["a link called ide", linkCalledIde, /\.qwen\/ide is a symbolic link; remove it/],
    [
      "a relative QWEN_HOME",
      () => Object.assign(process.env, { QWEN_HOME: "rel" }),
      /the directory for discovery files is a relative path \(rel\/ide\); set QWEN_HOME to an absolute path$/,
    ],
  ];
  for (const [what, make, says] of places) {
    await t.test(what, async (t) => {
      const { home, profiles } = startProfiles(t);
      make(home);
      const failed: string[] = [];
      const all = createAnnouncements({
        profiles,
        announcement: () => announcement(1, 2),
        log: createLog(),
        failed: ({ name }, { message }) => failed.push(`${name}: ${message}`),
      });
      t.teardown(all.remove);
      const before = readdirSync(".");
      all.publish(["/a"]);
      t.equal(failed.length, 1);
      t.match(failed[0], /^qwen: /);
      t.match(failed[0], says);
      t.ok(existsSync(join(home, "llxprt/ide/llxprt-ide-server-1-2.json")));
      t.ok(all.paths.every(isAbsolute));
      all.remove();
      t.same(readdirSync("."), before, "nothing is made here");
    });
  }
});

t.test("a lock file of another editor with the same port is kept", async (t) => {
  const { home, qwen } = startProfiles(t);
  const path = join(home, ".qwen/ide/2.lock");
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const write = () => {
    const file = createDiscoveryFile(qwen, announcement(1, 2));
    file.write(["/a"]);
    return file;
  };
  const others = JSON.stringify({ port: 2, ideInfo: { name: "vscode", displayName: "VS Code" } });
  writeFileSync(path, others);
  t.throws(write, /2\.lock belongs to another editor \(vscode\); remove it if that editor is not running$/);
  t.equal(readFileSync(path, "utf8"), others);
  for (const left of [JSON.stringify({ ideInfo: { name: "neovim" } }), "{", "[]"]) {
    writeFileSync(path, left);
    const file = write();
    t.equal(read(path).authToken, "the-secret-token", "a leftover of a host before, or what no CLI can read");
    writeFileSync(join(home, "other"), others);
    renameSync(join(home, "other"), path);
    file.remove();
    t.equal(readFileSync(path, "utf8"), others, "what has taken its place stays, too");
  }
});

t.test("QWEN_HOME has the same meaning as in Qwen Code", async (t) => {
  const { home, qwen } = startProfiles(t);
  for (const [value, directory] of [
    ["", join(home, ".qwen/ide")],
    ["~/other", join(home, "other/ide")],
    ["~", join(home, "ide")],
    ["/abs/x/", "/abs/x/ide"],
  ] as const) {
    process.env["QWEN_HOME"] = value;
    t.equal(directoryOf(qwen), directory, value);
  }
});

t.test("several CLIs with the same path for the discovery file share one file", async (t) => {
  const { home, profiles } = startProfiles(t, [
    { name: "nightly", like: "gemini", cmd: ["gemini-nightly"] },
    { name: "ola", like: "qwen", cmd: ["ola"], directory: "~/.ola/ide" },
  ]);
  const all = createAnnouncements({
    profiles,
    announcement: ({ name }) => announcement(1, 2, `${name}'s`),
    log: createLog(),
    failed: (_, error) => {
      throw error;
    },
  });
  t.teardown(all.remove);
  all.publish(["/a"]);
  t.equal(all.paths.length, 4);
  t.equal(read(join(home, "gemini/ide/gemini-ide-server-1-2.json")).authToken, "gemini's");
  t.equal(read(join(home, ".ola/ide/2.lock")).authToken, "ola's");
  t.match(all.variables(["/a"]).set, {
    GEMINI_CLI_IDE_AUTH_TOKEN: "gemini's",
    QWEN_CODE_IDE_AUTH_TOKEN: "qwen's",
  });
  all.remove();
  for (const path of all.paths) t.notOk(existsSync(path), path);
});
