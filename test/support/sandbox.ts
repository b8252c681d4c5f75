/** Creates the folders and the environment variables for a test. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import type { Scope } from "./scope.ts";

/** Folders of one test. All are below `base`, and no path contains a symbolic link. */
export type Dirs = Readonly<Record<(typeof names)[number] | "base", string>>;

const names = ["home", "tmp", "config", "data", "state", "cache", "run", "workspace"] as const;

/**
 * Creates the folders of a test. The paths are short, because the path of a Unix socket is limited to 103 bytes.
 * @param below parent directory, created if missing
 */
export function makeDirs(below = tmpdir()): Dirs {
  mkdirSync(below, { recursive: true });
  const base = realpathSync(mkdtempSync(join(below, "gb-")));
  const dir = (name: string) => {
    mkdirSync(join(base, name), { mode: 0o700 });
    return join(base, name);
  };
  return {
    base,
    home: dir("home"),
    tmp: dir("tmp"),
    config: dir("config"),
    data: dir("data"),
    state: dir("state"),
    cache: dir("cache"),
    run: dir("run"),
    workspace: dir("workspace"),
  };
}

/** Creates a directory without symbolic links in its path. The directory is removed at the end of the test. */
export function makeDirectory(t: Scope): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "gb-")));
  t.teardown(() => rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }));
  return directory;
}

/** Removes the folders, even if an ending process still writes into them. */
export function removeDirs(dirs: Dirs): void {
  rmSync(dirs.base, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}

/** Writes files, and creates their folders. Names are relative to `dir`. */
export function writeFiles(dir: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), content);
  }
}

/** Returns the complete environment for a process that a test starts. */
export function makeEnv(dirs: Dirs): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "",
    USER: userInfo().username,
    LANG: process.platform === "darwin" ? "en_US.UTF-8" : "C.UTF-8",
    TERM: "xterm-256color",
    SHELL: "/bin/sh",
    HOME: dirs.home,
    TMPDIR: dirs.tmp,
    XDG_CONFIG_HOME: dirs.config,
    XDG_DATA_HOME: dirs.data,
    XDG_STATE_HOME: dirs.state,
    XDG_CACHE_HOME: dirs.cache,
    XDG_RUNTIME_DIR: dirs.run,
  };
}

/**
 * Returns a command line that runs `command` with exactly the environment `env`, in the same process. An environment
 * for `spawn` or `jobstart` is not exact: tap adds NODE_OPTIONS, and Neovim adds NVIM.
 */
export function withEnv(env: Readonly<Record<string, string>>, command: readonly string[]): string[] {
  return ["env", "-i", ...Object.entries(env).map(([name, value]) => `${name}=${value}`), ...command];
}
