import { spawnSync } from "node:child_process";
import { chmodSync, constants, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { root } from "./nvim.ts";
import { withEnv } from "./sandbox.ts";

/** An ordinary user, for a test that root runs. */
const SOMEBODY = 12_345;

/** What makes the first user of a new user namespace, where the machine's root is not known, of an ordinary one. */
function enter(uid: number): string[] {
  const become = ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"];
  return [...(process.getuid?.() === 0 ? become : []), "unshare", "--user", "--map-root-user"];
}

/** Whether this system lets ordinary users make user namespaces. */
export function canBeRootless(): boolean {
  const [file = "", ...words] = [...enter(SOMEBODY), "true"];
  return spawnSync(file, words).status === 0;
}

/**
 * Runs a module's function in a rootless container's user namespace, with a HOME and nothing else of the test's.
 * @param directory where it may put what it needs
 * @param source a module, relative to the plugin's folder
 * @param script JavaScript that has the module's exports as `it`
 * @param env variables for it
 * @returns what it printed
 */
export async function runRootless(
  directory: string,
  source: string,
  script: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  // The checkout and Node may be where only the test's own user can read.
  chmodSync(directory, 0o755);
  const home = join(directory, "rootless");
  mkdirSync(home);
  const node = join(home, "node");
  copyFileSync(process.execPath, node, constants.COPYFILE_FICLONE);
  const outfile = join(home, "module.cjs");
  await build({
    entryPoints: [join(root, source)],
    bundle: true,
    platform: "node",
    format: "cjs",
    outfile,
    logLevel: "error",
  });
  writeFileSync(join(home, "script.cjs"), `const it = require("./module.cjs");\n${script}\n`);
  const [file = "", ...words] = withEnv(env, [...enter(SOMEBODY), node, join(home, "script.cjs")]);
  const { stdout, stderr } = spawnSync(file, words, { cwd: "/", encoding: "utf8" });
  return stdout + stderr;
}
