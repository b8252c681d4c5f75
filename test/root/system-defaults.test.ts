/** Tests the default settings for CLIs of root. The CLIs use these settings, because the files belong to root. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
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
import { homedir, hostname } from "node:os";
import { join } from "node:path";
import { isFileAndDirectorySecureSync } from "@google/gemini-cli-core/dist/src/utils/security.js";
import t, { type Test } from "tap";
import { GEMINI } from "../../src/profiles/profiles.ts";
import type { RawSettings } from "../../src/profiles/settings.ts";
import { writeSystemDefaults } from "../../src/profiles/system-defaults.ts";

const CONNECT: RawSettings = { ide: { enabled: true, hasSeenNudge: true } };

/** Creates a folder below root's home. The CLI ignores files below directories that others can write to. */
function makeHome(t: Test): string {
  mkdirSync(join(homedir(), ".cache"), { recursive: true });
  const home = realpathSync(mkdtempSync(join(homedir(), ".cache/gb-")));
  t.teardown(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** Writes the default settings together with the settings of the system's file. */
function defaultsIn(home: string, system?: string, parts: RawSettings[] = [CONNECT]) {
  const path = join(home, "system.json");
  if (system !== undefined) writeFileSync(path, system, { mode: 0o644 });
  const place = { directory: join(home, "state/gemini-bridge"), editorPid: process.pid };
  return writeSystemDefaults(GEMINI, place, parts, {
    GEMINI_CLI_SYSTEM_DEFAULTS_PATH: path,
  });
}

const contentOf = (path: string | undefined) => JSON.parse(readFileSync(path ?? "", "utf8"));

t.test("only the user can read the default settings, and disposal removes the file", async (t) => {
  const home = makeHome(t);
  const { path, obstacle, remove } = defaultsIn(home);
  t.equal(obstacle, undefined);
  t.same(contentOf(path), { ide: { enabled: true, hasSeenNudge: true } });
  t.equal(statSync(path ?? "").mode & 0o777, 0o600);
  t.equal(statSync(join(home, "state/gemini-bridge")).mode & 0o777, 0o700);
  t.same(isFileAndDirectorySecureSync(path ?? ""), { secure: true }, "the CLI agrees");
  remove();
  t.same(readdirSync(join(home, "state/gemini-bridge")), []);
  remove();
});

t.test("the system's settings take precedence over the default settings", async (t) => {
  const home = makeHome(t);
  const system = `{
    // of an administrator
    "ide": { "enabled": false }, /* "ide": */ "ui": { "theme": "http://x", "tabs": [1, 2] },
    "__proto__": { "polluted": true }
  }`;
  const { path } = defaultsIn(home, system, [
    CONNECT,
    { ui: { theme: "ours", tabs: [3], hideBanner: true }, ide: { enabled: false } },
  ]);
  t.match(contentOf(path), {
    ide: { enabled: false, hasSeenNudge: true },
    ui: { theme: "http://x", tabs: [1, 2], hideBanner: true },
  });
  t.notOk("polluted" in {});
});

t.test("no default settings are written if the system's settings cannot be read", async (t) => {
  const home = makeHome(t);
  for (const system of ["{ no json", "[]", "null", "7", `"${"x".repeat(2_000_000)}"`, `${"[".repeat(9e4)}`]) {
    const { path, obstacle } = defaultsIn(home, system);
    t.equal(path, undefined);
    t.match(obstacle, /system\.json, (is not a JSON object|is longer than)/);
  }
  rmSync(join(home, "system.json"));
  spawnSync("mkfifo", [join(home, "system.json")]);
  t.match(
    defaultsIn(home).obstacle,
    /default settings only from a regular file .*system\.json/,
    "a pipe is not waited for",
  );
});

t.test("no default settings are written if the CLI would warn about the file", async (t) => {
  const home = makeHome(t);
  const isSecure = (path: string) => isFileAndDirectorySecureSync(path).secure;

  await t.test("no default settings are written if others can write to the system's file", async (t) => {
    writeFileSync(join(home, "system.json"), "{}");
    chmodSync(join(home, "system.json"), 0o666);
    t.match(defaultsIn(home), {
      path: undefined,
      obstacle: /default settings only from a regular file .*system\.json/,
    });
    t.notOk(isSecure(join(home, "system.json")));
    rmSync(join(home, "system.json"));
  });

  for (const mode of [0o775, 0o757, 0o777]) {
    await t.test(`a file below a directory of mode ${mode.toString(8)} is not used`, async (t) => {
      chmodSync(home, mode);
      t.match(defaultsIn(home), { path: undefined, obstacle: `: ${home} is writable by others than root` });
      t.same(readdirSync(join(home, "state/gemini-bridge")), []);
      writeFileSync(join(home, "state/gemini-bridge/probe.json"), "{}", { mode: 0o600 });
      t.notOk(isSecure(join(home, "state/gemini-bridge/probe.json")), "the CLI agrees");
      rmSync(join(home, "state/gemini-bridge/probe.json"));
      chmodSync(home, 0o700);
    });
  }

  await t.test("a directory that cannot be created is reported", async (t) => {
    rmSync(join(home, "state"), { recursive: true });
    writeFileSync(join(home, "state"), "in the way");
    t.match(defaultsIn(home), { path: undefined, obstacle: /EEXIST|ENOTDIR/ });
  });
});

t.test("each Neovim has its own file, and the files of killed Neovims are removed", async (t) => {
  const home = makeHome(t);
  const directory = join(home, "state/gemini-bridge");
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { pid } = spawnSync(process.execPath, ["--version"]);
  const here = encodeURIComponent(hostname());
  const names = {
    dead: `system-defaults-${here}-${pid}-gemini.json`,
    draft: `system-defaults-${here}-${pid}-gemini.json.tmp`,
    living: `system-defaults-${here}-${process.ppid}-gemini.json`,
    elsewhere: `system-defaults-another-machine-${pid}-gemini.json`,
    foreign: "notes.json",
  };
  for (const name of Object.values(names)) writeFileSync(join(directory, name), "{}");
  // A link at the path of the temporary file must not be followed.
  const victim = join(home, "victim");
  writeFileSync(victim, "untouched");
  symlinkSync(victim, join(directory, `system-defaults-${here}-${process.pid}-gemini.json.tmp`));
  const { remove } = defaultsIn(home);
  remove();
  t.same(readdirSync(directory).sort(), [names.living, names.elsewhere, names.foreign].sort());
  t.equal(readFileSync(victim, "utf8"), "untouched");
});
