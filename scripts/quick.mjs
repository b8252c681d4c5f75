// `make quick`: runs the tests for the files with uncommitted changes or, without such changes, for the files of the
// last commit. Uses one Neovim. `make test` runs all tests.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "esbuild";

/** Maximum number of tests with Neovim, so that a run takes less than a minute. Further tests are only listed. */
const MAX_NEOVIM_TESTS = 5;

/**
 * Maps folders of lua/gemini-bridge to the first words in the names of their tests. For a folder that is not listed,
 * the names of the tests begin with the name of the folder.
 */
const TEST_NAMES = {
  bridge: "bridge|crash",
  disk: "unsafe-reload",
  host: "bridge|build|lifecycle",
  model: "tools",
  prompt: "send|prompt",
  turns: "agent",
};

const git = (...words) => execFileSync("git", words, { encoding: "utf8" }).split("\n").filter(Boolean);
const local = [...git("diff", "--name-only", "HEAD"), ...git("ls-files", "--others", "--exclude-standard")];
const changed = (local.length > 0 ? local : git("diff", "--name-only", "HEAD~1", "HEAD")).filter(existsSync);

const testsIn = (folder) =>
  readdirSync(join("test", folder))
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => join("test", folder, name));

/** Finds the tests without Neovim that import one of the files, directly or indirectly. */
async function importers(files) {
  const entryPoints = ["unit", "http", "scripts"].flatMap(testsIn);
  const options = { bundle: true, write: false, metafile: true, packages: "external", platform: "node" };
  const { metafile } = await build({
    ...options,
    entryPoints,
    format: "esm",
    outdir: "unwritten",
    logLevel: "error",
  });
  return Object.values(metafile.outputs).flatMap(({ entryPoint, inputs }) =>
    entryPoint !== undefined && files.some((file) => Object.hasOwn(inputs, file)) ? [entryPoint] : [],
  );
}

/**
 * Finds the tests that start Neovim and that belong to a Lua file: first those that mention its module or have a similar name, then all
 * tests for its folder.
 */
function testsOfLua(file) {
  const [, folder = "", path = ""] = /^lua\/gemini-bridge\/(\w+)\/(.*)\.lua$/.exec(file) ?? [];
  const module = `gemini-bridge.${folder}.${path.replaceAll("/", ".")}`;
  const name = basename(path).replaceAll("_", "-");
  const all = ["nvim", "outside"].flatMap(testsIn);
  const close = all.filter(
    (test) => test.includes(`-${name}`) || readFileSync(test, "utf8").includes(module),
  );
  const pattern = new RegExp(`^(${TEST_NAMES[folder] ?? folder})`);
  return [...close, ...all.filter((test) => pattern.test(basename(test)))];
}

const named = changed.filter((file) => /^test\/\w+\/[^/]+\.test\.ts$/.test(file));
const touched = await importers(changed.filter((file) => /^(src|test)\/.*\.ts$/.test(file)));
const ofNeovim = changed.flatMap((file) => {
  if (file.startsWith("lua/")) return testsOfLua(file);
  if (file.startsWith("src/")) return [join("test", "nvim", "bridge.test.ts")];
  return /\.(md|txt)$/.test(file) ? [join("test", "outside", "documents.test.ts")] : [];
});
const several = [...new Set(ofNeovim)].filter((test) => existsSync(test) && !named.includes(test));
const leftOut = several.slice(MAX_NEOVIM_TESTS);
if (leftOut.length > 0) console.log(`only run by \`make test\`: ${leftOut.join(" ")}`);
const tests = [...new Set([...named, ...touched, ...several.slice(0, MAX_NEOVIM_TESTS)])];
if (tests.length === 0) console.log("no tests for the changed files");
else {
  const [first] = execFileSync("scripts/nvim.sh", { encoding: "utf8" }).trim().split("\n");
  const env = { ...process.env, NVIM_BIN: process.env["NVIM_BIN"] ?? first };
  process.exitCode =
    spawnSync(process.execPath, ["scripts/test.mjs", ...tests], { stdio: "inherit", env }).status ?? 1;
}
