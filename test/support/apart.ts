/** Runs JavaScript in a separate process, with limits or as another user. */
import { spawnSync } from "node:child_process";
import { chmodSync, constants, copyFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { root } from "./nvim.ts";
import { withEnv } from "./sandbox.ts";

/**
 * Runs the following command as the first user of a user namespace, in which the machine's root is unknown.
 */
export const rootless: readonly string[] = ["unshare", "--user", "--map-root-user"];

/** Whether this system can run commands with this prefix. */
export function canRun([file = "", ...words]: readonly string[]): boolean {
  return spawnSync(file, [...words, "true"]).status === 0;
}

export interface ApartOptions {
  /** Prefix of the command line. */
  by?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Timeout (milliseconds). The process is then killed. */
  timeout?: number;
}

/**
 * Runs JavaScript in a separate process, which may be limited, hang, or belong to another user (by
 * `setpriv`).
 * @param directory for the process's files; other users may then read it
 * @param source a module relative to the plugin's folder. The script has its exports as `it`
 * @returns its output, or that it did not end
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
    // A checkout, and also its Node, may be accessible only for root.
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
