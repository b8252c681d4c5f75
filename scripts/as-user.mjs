// Runs a program of this folder as an ordinary user, even if root starts this script.
// usage: node scripts/as-user.mjs [--keep <folder>] <file.ts> [argument ...]
//        --keep  a folder that is copied back into the checkout afterwards
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ordinaryPlace } from "./ordinary-user.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values, positionals } = parseArgs({ options: { keep: { type: "string" } }, allowPositionals: true });
// Fetches Neovim before changing to the ordinary user, because the installation may need root.
execFileSync(join(root, "scripts/nvim.sh"), { stdio: ["ignore", "ignore", "inherit"] });
const { root: cwd, node, env, ids, close } = ordinaryPlace(root);
try {
  const words = ["--import", "./scripts/typescript.mjs", ...positionals];
  process.exitCode = spawnSync(node, words, { cwd, env, stdio: "inherit", ...ids }).status ?? 1;
  if (values.keep !== undefined && cwd !== root)
    cpSync(join(cwd, values.keep), join(root, values.keep), { recursive: true });
} finally {
  close();
}
