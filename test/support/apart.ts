/** Runs JavaScript in a separate process, with limits or as another user. */
import { spawnSync } from "node:child_process";
import { chmodSync, constants, copyFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { root } from "./nvim.ts";
import { withEnv } from "./sandbox.ts";

/**
 * Prefix of a command line. Runs the command as the first user of a user namespace, in which the machine's root is
 * unknown.
 */
export const rootless: readonly string[] = ["unshare", "--user", "--map-root-user"];

/** Returns whether this system can run commands with the given prefix. */
export function canRun([file = "", ...words]: readonly string[]): boolean {
  return spawnSync(file, [...words, "true"]).status === 0;
}

export interface ApartOptions {
  /** Prefix of the command line, such as {@link rootless}. */
  by?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Timeout after which the process is killed (milliseconds). */
  timeout?: number;
}

/**
 * Runs JavaScript in a separate process. The process may have limits, may hang, or may run as another user (with
 * `setpriv`).
 * @param directory folder for the process's files, which other users may read afterwards
 * @param source module, relative to the plugin's folder, whose exports the script can use as `it`
 * @returns the output of the process, or a text that says that the process did not end
 */
export async function runApart(
  directory: string,
  source: string,
  script: string,
  { by = [], env = {}, timeout = 20_000 }: ApartOptions = {},
): Promise<string> {
  const home = mkdtempSync(join(directory, "apart-"));
  for (const path of [directory, home]) chmodSync(path, 0o755);
  let node = process.execPath;
  if (by[0] === "setpriv") {
    // Another user may have no access to this checkout or to its Node.
    node = join(home, "node");
    copyFileSync(process.execPath, node, constants.COPYFILE_FICLONE);
  }
  await build({
    entryPoints: [join(root, source)],
    bundle: true,
    platform: "node",
    format: "cjs",
    outfile: join(home, "module.cjs"),
    logLevel: "error",
  });
  writeFileSync(join(home, "script.cjs"), `const it = require("./module.cjs");\n${script}\n`);
  const [file = "", ...words] = withEnv({ PATH: process.env["PATH"] ?? "", ...env }, [
    ...by,
    node,
    join(home, "script.cjs"),
  ]);
  const end = spawnSync(file, words, { cwd: "/", encoding: "utf8", timeout, killSignal: "SIGKILL" });
  return end.error || end.signal ? `did not end: ${end.signal}` : end.stdout + end.stderr;
}
