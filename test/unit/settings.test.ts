import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { isFileAndDirectorySecureSync } from "@google/gemini-cli-core/dist/src/utils/security.js";
import t from "tap";
import { z } from "zod";
import { GEMINI } from "../../src/profiles/profiles.ts";
import { readSettings, setting } from "../../src/profiles/settings.ts";
import { insecurity } from "../../src/system/root-only-file.ts";
import { makeDirectory, writeFiles } from "../support/sandbox.ts";

const base = makeDirectory(t);
const home = join(base, "home");
const project = join(base, "project");
mkdirSync(project);
const env = { HOME: home, GEMINI_CLI_SYSTEM_SETTINGS_PATH: join(base, "none/settings.json") };

const ideMode = (cwd: string) => setting(readSettings(GEMINI, env, cwd), "ide.enabled", z.boolean());

t.test(
  "the workspace's settings take precedence over the user's settings, unless both are the same file",
  async (t) => {
    writeFiles(base, {
      "home/.gemini/settings.json":
        '{ // by hand\n "ide": { "enabled": true /* "enabled": false */ }, "url": "http://x" }',
      "project/.gemini/settings.json": '{ "ide": { "enabled": "wrong" } }',
    });
    t.same(
      ideMode(project),
      { value: true, path: join(home, ".gemini/settings.json") },
      "a wrong value is none",
    );
    writeFiles(project, { ".gemini/settings.json": '{ "ide": { "enabled": false } }' });
    t.same(ideMode(project), { value: false, path: join(project, ".gemini/settings.json") });
    t.match(ideMode(home), { value: true });
    t.equal(readSettings(GEMINI, env, home).length, 3, "the user's own is read once");
  },
);

t.test("a system file is used only if nobody but root can change it", async (t) => {
  writeFiles(base, { "mine.json": "{}" });
  symlinkSync("/etc/passwd", join(base, "passwd"));
  for (const path of ["/etc/passwd", "/etc", join(base, "mine.json"), join(base, "passwd"), "/dev/null"])
    t.equal(insecurity(path) === undefined, isFileAndDirectorySecureSync(path).secure, path);
  const defaults = join(base, "mine.json");
  const files = readSettings(GEMINI, { ...env, GEMINI_CLI_SYSTEM_DEFAULTS_PATH: defaults }, project);
  t.match(
    files.at(-1),
    { path: defaults, problem: /^is ignored by the CLI: /, isIgnored: true },
    "others write to the directory above",
  );
});

t.test("an unusable settings file is reported with a reason", async (t) => {
  const directory = join(project, ".gemini");
  const broken: [() => void, RegExp][] = [
    [() => writeFiles(directory, { "settings.json": "{ oops" }), /^is not a JSON object$/],
    [() => writeFiles(directory, { "settings.json": "[]" }), /^is not a JSON object$/],
    [() => execFileSync("mkfifo", [join(directory, "settings.json")]), /^is not a regular file$/],
    [() => mkdirSync(join(directory, "settings.json")), /^is not a regular file$/],
    [() => symlinkSync("/dev/zero", join(directory, "settings.json")), /^is not a regular file$/],
    [() => writeFiles(directory, { "settings.json": " ".repeat(1_000_001) }), /^is longer than \d+ bytes$/],
  ];
  for (const [make, problem] of broken) {
    rmSync(join(directory, "settings.json"), { recursive: true });
    make();
    t.match(readSettings(GEMINI, env, project)[1], { problem, isIgnored: undefined });
  }
});
