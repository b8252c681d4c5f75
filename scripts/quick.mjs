// Runs the tests that the changed files touch, on one Neovim: `make quick`. Changed is what differs from the last
// commit, or else what that commit changed. The whole is `make test`.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "esbuild";

/** More would take longer than a minute; what is left out is named. */
const MAX_OF_NEOVIM = 5;

/** What the tests of a folder of lua/gemini-bridge are called, where that is not its own name. */
const CALLED = {
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

/** Tests without a Neovim, of which one of the files is a part. */
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

/** Neovim's tests of a Lua file: those that name it or are named like it come first. */
function testsOfLua(file) {
  const [, folder = "", path = ""] = /^lua\/gemini-bridge\/(\w+)\/(.*)\.lua$/.exec(file) ?? [];
  const module = `gemini-bridge.${folder}.${path.replaceAll("/", ".")}`;
  const name = basename(path).replaceAll("_", "-");
  const all = ["nvim", "outside"].flatMap(testsIn);
  const close = all.filter(
    (test) => test.includes(`-${name}`) || readFileSync(test, "utf8").includes(module),
  );
  const pattern = new RegExp(`^(${CALLED[folder] ?? folder})`);
  return [...close, ...all.filter((test) => pattern.test(basename(test)))];
}

const named = changed.filter((file) => /^test\/\w+\/[^/]+\.test\.ts$/.test(file));
const touched = await importers(changed.filter((file) => /^(src|test)\/.*\.ts$/.test(file)));
const ofNeovim = changed.flatMap((file) => {
  if (file.startsWith("lua/")) return testsOfLua(file);
  if (file.startsWith("src/")) return [join("test", "nvim", "bridge.test.ts")];
  return /\.(md|txt)$/.test(file) ? ["snippets", "readme"].map((name) => `test/nvim/${name}.test.ts`) : [];
});
const several = [...new Set(ofNeovim)].filter((test) => existsSync(test) && !named.includes(test));
const leftOut = several.slice(MAX_OF_NEOVIM);
if (leftOut.length > 0) console.log(`left to \`make test\`: ${leftOut.join(" ")}`);
const tests = [...new Set([...named, ...touched, ...several.slice(0, MAX_OF_NEOVIM)])];
if (tests.length === 0) console.log("no test is touched");
else {
  const [first] = execFileSync("scripts/nvim.sh", { encoding: "utf8" }).trim().split("\n");
  const env = { ...process.env, NVIM_BIN: process.env["NVIM_BIN"] ?? first };
  process.exitCode =
    spawnSync(process.execPath, ["scripts/test.mjs", ...tests], { stdio: "inherit", env }).status ?? 1;
}
