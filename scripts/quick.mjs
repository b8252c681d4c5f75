// `make quick`: runs the tests for the files with uncommitted changes or, without such changes, for the files of the
// last commit. Uses one Neovim. `make test` runs all tests.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "esbuild";

/** Maximum numbers of tests, so that a run takes less than a minute. Further tests are only listed. */
const MAX_TESTS = 8;
const MAX_NEOVIM_TESTS = 3;

/**
 * Maps folders of src and lua/gemini-bridge to the first words in the names of their tests. For a folder that is not listed,
 * the names of the tests begin with the name of the folder.
 */
const TEST_NAMES = {
  bridge: "bridge|crash",
  difference: "page|review-hunks",
  disk: "unsafe-reload",
  host: "bridge|build|lifecycle",
  model: "tools",
  prompt: "send|prompt",
  store: "changes|history",
  turns: "agent",
};

const git = (...words) => execFileSync("git", words, { encoding: "utf8" }).split("\n").filter(Boolean);
const local = [...git("diff", "--name-only", "HEAD"), ...git("ls-files", "--others", "--exclude-standard")];
const changed = (local.length > 0 ? local : git("diff", "--name-only", "HEAD~1", "HEAD")).filter(existsSync);

const testsIn = (folder) =>
  readdirSync(join("test", folder))
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => join("test", folder, name));

/** Finds the tests without Neovim that import one of the files. Those that import the fewest other files come first. */
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
  const size = ({ inputs }) => Object.keys(inputs).length;
  return Object.values(metafile.outputs)
    .filter(({ entryPoint, inputs }) => entryPoint && files.some((file) => Object.hasOwn(inputs, file)))
    .sort((one, other) => size(one) - size(other))
    .map(({ entryPoint }) => entryPoint);
}

/**
 * Finds the tests that start Neovim and that belong to a file of src or lua: first those that mention its Lua module or
 * have a similar name, then all tests for its folder.
 */
function testsWithNeovim(file) {
  const path = file.replace(/^(lua\/gemini-bridge|src)\//, "").replace(/\.\w+$/, "");
  const [folder] = path.split("/");
  const module = `gemini-bridge.${path.replaceAll("/", ".")}`;
  const name = basename(path).replaceAll("_", "-");
  const all = ["nvim", "outside"].flatMap(testsIn);
  const close = all.filter(
    (test) => test.includes(`-${name}`) || readFileSync(test, "utf8").includes(module),
  );
  const pattern = new RegExp(`^(${TEST_NAMES[folder] ?? folder})`);
  const found = [...close, ...all.filter((test) => pattern.test(basename(test)))];
  return found.length > 0 ? found : [join("test", "nvim", "bridge.test.ts")];
}

const named = changed.filter((file) => /^test\/\w+\/[^/]+\.test\.ts$/.test(file));
const touched = await importers(changed.filter((file) => /^(src|test)\/.*\.ts$/.test(file)));
const ofNeovim = changed.flatMap((file) => {
  if (/^(lua|src)\//.test(file)) return testsWithNeovim(file);
  return /\.(md|txt)$/.test(file) ? [join("test", "outside", "documents.test.ts")] : [];
});
const others = (all) => [...new Set(all)].filter((test) => existsSync(test) && !named.includes(test));
const [without, withNeovim] = [others(touched), others(ofNeovim)];
const leftOut = [...without.slice(MAX_TESTS), ...withNeovim.slice(MAX_NEOVIM_TESTS)];
if (leftOut.length > 0) console.log(`only run by \`make test\`: ${leftOut.join(" ")}`);
const tests = [...named, ...without.slice(0, MAX_TESTS), ...withNeovim.slice(0, MAX_NEOVIM_TESTS)];
if (tests.length === 0) console.log("no tests for the changed files");
else {
  const [first] = execFileSync("scripts/nvim.sh", { encoding: "utf8" }).trim().split("\n");
  const env = { ...process.env, NVIM_BIN: process.env["NVIM_BIN"] ?? first };
  process.exitCode =
    spawnSync(process.execPath, ["scripts/test.mjs", ...tests], { stdio: "inherit", env }).status ?? 1;
}
