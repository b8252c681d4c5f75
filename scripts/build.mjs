// Bundles src/index.ts with everything it imports into one CommonJS file, dist/gemini-bridge.cjs: Neovim's
// plugin host `require`s it, and at run time nothing is left to resolve.
import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const entry = join(root, "src/index.ts");
const outfile = join(root, "dist/gemini-bridge.cjs");

/** @param {string} message */
function fail(message) {
  console.error(`build: ${message}`);
  process.exit(1);
}

if (!existsSync(entry)) fail(`${relative(root, entry)} is missing`);
const { build } = await import("esbuild").catch(() => fail("esbuild is not installed; run: npm ci"));

try {
  await build({
    absWorkingDir: root,
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    minify: true,
    // Names stay as written: they are what a stack trace in a user's log shows.
    keepNames: true,
    legalComments: "none",
    logLevel: "warning", // esbuild prints each error with its place in the source
  });
} catch {
  fail("src/index.ts was not bundled");
}
