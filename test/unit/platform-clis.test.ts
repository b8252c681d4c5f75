/** Where the CLI's own code behaves otherwise on another system, we do so, too: both are run as if on each. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import os, { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Storage } from "@google/gemini-cli-core/dist/src/config/storage.js";
import { getIdeProcessInfo } from "@google/gemini-cli-core/dist/src/ide/process-utils.js";
import { isSubpath } from "@google/gemini-cli-core/dist/src/utils/paths.js";
import fc from "fast-check";
import t, { type Test } from "tap";
import { discoveryContent } from "../../src/discovery/content.ts";
import { contains } from "../../src/profiles/announced-editors.ts";
import { expand } from "../../src/profiles/paths.ts";
import { GEMINI } from "../../src/profiles/profiles.ts";
import { systemOf } from "../../src/system/here.ts";
import { macos } from "../../src/system/macos.ts";
import { parseProcesses, windows } from "../../src/system/windows.ts";

const PLATFORMS = ["linux", "darwin", "win32"] as const;

/** Has the CLI's code believe that it runs on that system. */
async function as<T>(platform: NodeJS.Platform, run: () => T | Promise<T>): Promise<T> {
  const before = Object.getOwnPropertyDescriptor(process, "platform");
  const asked = os.platform;
  Object.defineProperty(process, "platform", { ...before, value: platform });
  os.platform = () => platform;
  try {
    return await run();
  } finally {
    if (before) Object.defineProperty(process, "platform", before);
    os.platform = asked;
  }
}

function folder(t: Test): string {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "gb-platform-")));
  t.teardown(() => rmSync(base, { recursive: true }));
  return base;
}

t.test("which directory lies in which", async (t) => {
  const paths = {
    linux: [
      "/home/ada",
      "/home/ada/x",
      "/home/Ada/x",
      "/home/ada..x",
      "/home/ada/../b",
      "/",
      "/home/ada/..x",
    ],
    darwin: ["/Users/ada", "/users/ADA/x", "/Users/ada2", "/Volumes/x", "/", "/Users/ada/..x"],
    win32: [
      "C:\\Users\\Ada",
      "c:/users/ada/x",
      "C:\\USERS\\ADA\\X\\y",
      "C:\\Users\\Adam",
      "D:\\Users\\Ada\\x",
      "C:\\",
      "\\\\wsl.localhost\\Debian\\home\\ada",
      "\\\\WSL.localhost\\debian\\home\\ada\\x",
      "C:\\Users\\Ada\\..x",
    ],
  };
  for (const platform of PLATFORMS)
    for (const outer of paths[platform])
      for (const inner of paths[platform]) {
        const theirs = await as(platform, () => isSubpath(outer, inner));
        t.equal(systemOf(platform).isWithin(outer, inner), theirs, `${platform}: ${outer} ${inner}`);
      }
});

t.test("the administrator's directory", async (t) => {
  for (const platform of PLATFORMS) {
    const theirs = await as(platform, () => dirname(Storage.getSystemSettingsPath()));
    t.equal(GEMINI.defaults?.directory[systemOf(platform).name], theirs, platform);
  }
});

t.test("a workspace on Windows", async (t) => {
  const workspace = ["C:\\Users\\Ada\\one", "D:\\two"];
  const address = { pid: 1, editorPid: 2, port: 3, authToken: "secret" };
  const { workspacePath } = discoveryContent({ content: "plain" }, address, workspace, windows);
  t.equal(workspacePath, "C:\\Users\\Ada\\one;D:\\two");
  t.ok(contains(workspacePath, "c:/users/ada/ONE/src", windows));
  t.ok(contains(workspacePath, "D:\\two", windows));
  t.notOk(contains(workspacePath, "D:\\twofold", windows));
  t.notOk(contains("C:\\Users\\Ada\\one:D:\\two", "D:\\two", windows), "a colon separates nothing");
  const lock = discoveryContent({ content: "lock" }, address, ["C:\\a;b"], windows);
  t.equal(lock.workspacePath, '["C:\\\\a;b"]');
});

t.test("places of files on Windows and macOS", async (t) => {
  const ada = {
    USERPROFILE: "C:\\Users\\Ada",
    APPDATA: "C:\\Users\\Ada\\AppData\\Roaming",
    TEMP: "C:\\Users\\Ada\\AppData\\Local\\Temp",
  };
  t.equal(expand(GEMINI.directory, ada, windows), `${ada.TEMP}\\gemini\\ide`);
  t.equal(expand("~/.gemini/settings.json", ada, windows), "C:\\Users\\Ada\\.gemini\\settings.json");
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the profile's own
  const llxprt = "${LLXPRT_CONFIG_HOME:-{config}/llxprt-code}/settings.json";
  t.equal(expand(llxprt, ada, windows), `${ada.APPDATA}\\llxprt-code\\Config\\settings.json`);
  t.equal(
    expand(llxprt, { HOME: "/Users/ada" }, macos),
    "/Users/ada/Library/Preferences/llxprt-code/settings.json",
  );
});

t.test("a temporary directory on macOS, where /var is a link to /private/var", async (t) => {
  const base = folder(t);
  mkdirSync(join(base, "private/var/folders/zz/T/project"), { recursive: true });
  symlinkSync("private/var", join(base, "var"));
  const said = join(base, "var/folders/zz/T");
  t.ok(contains(said, join(base, "private/var/folders/zz/T/project"), macos));
  t.ok(contains(join(base, "private/var/folders/zz/T"), join(base, "var/folders/zz/T/project"), macos));
  t.ok(contains(said, join(base, "PRIVATE/var/folders/ZZ/T/gone"), macos), "in either case");
});

t.test("the editor's process on Windows, as the CLI walks to it", async (t) => {
  // The shell in which the CLI runs PowerShell prints what that would print: the walk is the CLI's own.
  const base = folder(t);
  const printed = join(base, "processes.json");
  const shell = join(base, "cmd.exe");
  writeFileSync(shell, `#!/bin/sh\ncat '${printed}'\n`, { mode: 0o755 });
  process.env["comspec"] = shell;
  delete process.env["GEMINI_CLI_IDE_PID"];
  const pids = fc.uniqueArray(fc.integer({ min: 4, max: 99 }), { maxLength: 40 });
  const property = fc.asyncProperty(pids, fc.constantFrom(0, 1, 100), async (above, top) => {
    const line = [process.pid, ...above, top];
    const json = JSON.stringify(
      line.slice(0, -1).map((pid, index) => ({
        ProcessId: pid,
        ParentProcessId: line[index + 1],
        Name: "x.exe",
        CommandLine: null,
      })),
    );
    writeFileSync(printed, json);
    const theirs = await as("win32", () => getIdeProcessInfo());
    t.equal(windows.editorProcess(parseProcesses(json, 0), process.pid), theirs.pid, json);
  });
  await fc.assert(property, { numRuns: 40 });
});
