import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isFileAndDirectorySecureSync } from "@google/gemini-cli-core/dist/src/utils/security.js";
import {
  checkPathTrust,
  resetTrustedFoldersForTesting,
} from "@google/gemini-cli-core/dist/src/utils/trust.js";
import fc from "fast-check";
import t from "tap";
import { startMode } from "../../src/doctor/approval.ts";
import { readFlags } from "../../src/doctor/flags.ts";
import { readSettings, setting } from "../../src/profiles/settings.ts";
import { isFolderDistrusted } from "../../src/profiles/trust.ts";
import { insecurity } from "../../src/system/secure.ts";
import { fuzz } from "../support/fuzz.ts";
import { writeFiles } from "../support/sandbox.ts";

const base = realpathSync(mkdtempSync(join(tmpdir(), "gb-")));
t.teardown(() => rmSync(base, { recursive: true }));
const home = join(base, "home");
const project = join(base, "project");
mkdirSync(project);
const env = { HOME: home, GEMINI_CLI_SYSTEM_SETTINGS_PATH: join(base, "none/settings.json") };

const ideMode = (cwd: string) => setting(readSettings(env, cwd).files, ({ ide }) => ide?.enabled);

t.test("the workspace's file wins over the user's, where it is not the user's own", async (t) => {
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
  t.equal(readSettings(env, home).files.filter(({ scope }) => scope === "workspace").length, 0);
});

t.test("the workspace's file does not count where the user distrusts it", async (t) => {
  writeFiles(home, { ".gemini/trustedFolders.json": `{ "${project}": "DO_NOT_TRUST" } // for now` });
  t.match(ideMode(project), { value: true });
  writeFiles(home, {
    ".gemini/settings.json":
      '{ "ide": { "enabled": true }, "security": { "folderTrust": { "enabled": false } } }',
  });
  t.match(ideMode(project), { value: false }, "unless it trusts all");
  rmSync(join(home, ".gemini/trustedFolders.json"));
});

t.test("what is trusted is what the CLI trusts", async (t) => {
  const folders = ["/", base, home, project, join(project, "inner"), join(base, "link"), "/no/such"];
  symlinkSync(project, join(base, "link"));
  const level = fc.constantFrom("TRUST_FOLDER", "TRUST_PARENT", "DO_NOT_TRUST");
  const property = fc.property(
    fc.dictionary(fc.constantFrom(...folders), level),
    fc.constantFrom(...folders),
    fc.boolean(),
    fc.constantFrom({}, { GEMINI_CLI_TRUST_WORKSPACE: "true" }, { GEMINI_RESTRICTED_MODE: "true" }),
    (rules, path, isFolderTrustEnabled, more) => {
      writeFiles(base, { "trusted.json": JSON.stringify(rules) });
      const variables = { ...env, ...more, GEMINI_CLI_TRUSTED_FOLDERS_PATH: join(base, "trusted.json") };
      for (const name of ["GEMINI_CLI_TRUST_WORKSPACE", "GEMINI_RESTRICTED_MODE"]) delete process.env[name];
      Object.assign(process.env, variables);
      resetTrustedFoldersForTesting();
      const { isTrusted } = checkPathTrust({ path, isFolderTrustEnabled });
      return isFolderDistrusted(variables, path, isFolderTrustEnabled) === (isTrusted === false);
    },
  );
  fc.assert(property, fuzz(t, "trusted folders", 300));
});

t.test("a file of the system counts only where root alone can change it", async (t) => {
  writeFiles(base, { "mine.json": "{}" });
  symlinkSync("/etc/passwd", join(base, "passwd"));
  for (const path of ["/etc/passwd", "/etc", join(base, "mine.json"), join(base, "passwd"), "/dev/null"])
    t.equal(insecurity(path) === undefined, isFileAndDirectorySecureSync(path).secure, path);
  const defaults = join(base, "mine.json");
  const { files } = readSettings({ ...env, GEMINI_CLI_SYSTEM_DEFAULTS_PATH: defaults }, project);
  t.match(
    files.at(-1),
    { path: defaults, problem: /^does not count: / },
    "others write to the directory above",
  );
});

t.test("what is no settings file", async (t) => {
  const directory = join(project, ".gemini");
  const broken: [() => void, RegExp][] = [
    [() => writeFiles(directory, { "settings.json": "{ oops" }), /^is no JSON object$/],
    [() => writeFiles(directory, { "settings.json": "[]" }), /^is no JSON object$/],
    [() => execFileSync("mkfifo", [join(directory, "settings.json")]), /^is no regular file$/],
    [() => mkdirSync(join(directory, "settings.json")), /^is no regular file$/],
    [() => symlinkSync("/dev/zero", join(directory, "settings.json")), /^is no regular file$/],
    [() => writeFiles(directory, { "settings.json": " ".repeat(1_000_001) }), /^is longer than \d+ bytes$/],
  ];
  for (const [make, problem] of broken) {
    rmSync(join(directory, "settings.json"), { recursive: true });
    make();
    const found = readSettings(env, project).files.find(({ scope }) => scope === "workspace");
    t.match(found, { problem, isFatal: true });
  }
});

t.test("the mode in which a CLI starts", async (t) => {
  const mode = (words: string[], settings: object = {}, isDistrusted = false) => {
    writeFiles(home, { ".gemini/settings.json": JSON.stringify(settings) });
    return startMode(readFlags(words), { ...readSettings(env, home), isDistrusted });
  };
  const run = ["node", "--max-old-space-size=4096", "/usr/bin/gemini"];
  const inSettings = { general: { defaultApprovalMode: "auto_edit" } };
  t.match(mode(run), { name: "default", from: undefined });
  t.match(mode([...run, "--yolo"]), { name: "yolo", from: "--yolo" });
  t.match(mode([...run, "-dy"]), { name: "yolo" });
  t.match(mode([...run, "--yolo=false"]), { name: "default" });
  t.match(mode([...run, "-i", "--yolo"]), { name: "default" }, "a prompt is no flag");
  t.match(mode([...run, "--", "--yolo"]), { name: "default" });
  t.match(mode([...run, "--approval-mode", "auto_edit"]), {
    name: "auto_edit",
    from: "--approval-mode auto_edit",
  });
  t.match(mode([...run, "--approval-mode=plan"], inSettings), { name: "plan" }, "the command line wins");
  t.match(mode(run, inSettings), { name: "auto_edit", from: join(home, ".gemini/settings.json") });
  t.match(mode(run, { tools: { approvalMode: "auto_edit" } }), { name: "auto_edit" }, "its older name");
  t.match(mode(run, { general: { defaultApprovalMode: "yolo" } }), { name: "default" }, "YOLO is a flag's");
  t.match(mode([...run, "--yolo"], {}, true), { name: "default" }, "in a distrusted directory it asks");
});
