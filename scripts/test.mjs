// Runs the tests.
// - Files of VERSION_DEPENDENT, and named files, run on every Neovim of scripts/nvim.sh. Other files run on one of them.
// - Without arguments, files of ON_EVERY_NODE run once more on each of the other Nodes in .nodes.
// - All tests run as an ordinary user, except test/root, which runs only if root starts this script.
// - Some files in test/outside run only with a program that npm ci does not install: see PROGRAMS.
// The last line is "N passed, N failed".
// usage: node scripts/test.mjs [test file ...]
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { delimiter, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ordinaryPlace, ownPlace } from "./ordinary-user.mjs";
import { bundleTests } from "./test-bundle.mjs";
import { runFile } from "./test-file.mjs";
import { keepBusy } from "./test-queue.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const named = process.argv.slice(2).map((file) => relative(root, resolve(file)));
const isRoot = process.getuid?.() === 0;
const ofRoot = (file) => file.startsWith("test/root/");
const wanted = named.length > 0 ? named : allTests();
/** Maps each test that needs a program to the environment variable that contains the path of this program. */
const PROGRAMS = {
  "test/outside/claude.test.ts": "CLAUDE_CODE",
  "test/outside/claude-beside.test.ts": "CLAUDE_CODE",
  "test/outside/opencode.test.ts": "OPENCODE",
};
const isPossible = (file) => (isRoot || !ofRoot(file)) && (!PROGRAMS[file] || process.env[PROGRAMS[file]]);
const files = wanted.filter(isPossible);
for (const file of wanted.filter((each) => !isPossible(each)))
  console.log(`${file} is left out, because it needs ${ofRoot(file) ? "root" : PROGRAMS[file]}`);
/**
 * Tests of windows, buffers, terminals and the selection, because these differ from release to release of Neovim: they
 * run on every Neovim.
 */
const VERSION_DEPENDENT =
  /^test\/nvim\/(review|page|terminal|reload|unsafe|narrow|tools|context-selection|context-pin|notify|agent|session-files|send|kept-texts|install|lived-in|next-neovim)\b/;
/** Tests of what depends on the release of Node: starting, connecting, reviews, hooks, and stopping. */
const ON_EVERY_NODE = ["nvim/node", "http/sessions", "http/hook", "unit/entry"].map(
  (name) => `test/${name}.test.ts`,
);

const WITH_NEOVIM = /^test\/(nvim|e2e|outside|root)\//;
const bins = files.some((file) => WITH_NEOVIM.test(file)) ? neovims() : [];

/**
 * Returns the Neovims on which a file runs. A single Neovim is chosen by a hash of the name, so that the choice stays
 * the same when other files are added. A named file of test/nvim or test/e2e runs on every Neovim.
 */
function neovimsFor(file) {
  if (VERSION_DEPENDENT.test(file) || (named.length > 0 && /^test\/(nvim|e2e)\//.test(file))) return bins;
  const [byte] = createHash("sha1").update(file).digest();
  return [bins[byte % bins.length]];
}

/**
 * Test files, each with the Neovim or Node on which it runs.
 * @type {{ file: string, on: string, node?: string, bin?: string }[]}
 */
const runs = files.flatMap((file) =>
  WITH_NEOVIM.test(file)
    ? neovimsFor(file).map(({ bin, version }) => ({ file, on: `, ${version}`, bin }))
    : [{ file, on: "" }],
);
for (const node of named.length > 0 ? [] : otherNodes())
  for (const file of ON_EVERY_NODE)
    runs.push({ file, on: `, Node ${versionOf(node)}`, node, bin: bins[0].bin });

/** Test files, place and bundles for each user that runs tests (the ordinary user and root). */
const parts = [];
function partOf(file) {
  return parts.find(({ files }) => files.includes(file));
}

const total = { pass: 0, fail: 0 };
async function run({ file, on, node, bin }, number) {
  const { place, bundle } = partOf(file);
  const program = node === undefined ? place.node : place.path(node);
  const result = await runFile({
    node: program,
    path: bundle.path(file),
    cwd: place.root,
    ids: place.ids,
    env: {
      ...place.env,
      // Enables the checks of calls in test/support/contract.ts. Benchmarks do not enable them.
      CHECK_CONTRACT: "1",
      TAP_TIMEOUT: process.env.TAP_TIMEOUT ?? "180",
      // Puts the Node of this run first on PATH, because Neovim starts the host with the first Node on PATH.
      PATH: dirname(program) + delimiter + process.env.PATH,
      // Removes this variable. Otherwise, Node 20 would parse a file of certificates at each start, which takes longer
      // than the rest of the start.
      NODE_EXTRA_CA_CERTS: undefined,
      ...(bin && { NVIM_BIN: place.path(bin) }),
    },
  });
  total.pass += result.pass;
  total.fail += result.fail;
  const took = `# time=${Math.round(result.milliseconds)}ms`;
  console.log(`${result.fail > 0 ? "not ok" : "ok"} ${number} - ${file}${on} ${took}`);
  for (const line of result.failures) console.log(`    ${line}`);
}
try {
  for (const [ofPart, enter] of [
    [files.filter((file) => !ofRoot(file)), ordinaryPlace],
    [files.filter(ofRoot), ownPlace],
  ]) {
    if (ofPart.length === 0) continue;
    const part = { files: ofPart, place: enter(root) };
    parts.push(part);
    part.bundle = await bundleTests(part.place.root, ofPart);
  }
  await keepBusy(mixed(runs).map((each, index) => () => run(each, index + 1)));
} finally {
  for (const { bundle, place } of parts) {
    bundle?.remove();
    place.close();
  }
}
if (total.pass + total.fail === 0) {
  console.log("no tests ran");
  total.fail = 1;
}
console.log(`\n# time=${Math.round(performance.now() / 1000)}s`);
console.log(`${total.pass} passed, ${total.fail} failed`);
process.exitCode = total.fail > 0 ? 1 : 0;

/**
 * Spreads the tests of each folder evenly over the run, because each folder has tests of one kind. Tests with a CLI
 * keep a processor busy, and tests with Neovim mostly wait. A run is faster if both kinds run at the same time.
 */
function mixed(runs) {
  const kind = ({ file }) => dirname(file);
  const count = new Map();
  const place = (run) => count.set(kind(run), (count.get(kind(run)) ?? 0) + 1).get(kind(run)) - 1;
  const placed = runs.map((run) => ({ run, place: place(run) }));
  const share = ({ run, place }) => place / count.get(kind(run));
  return placed.sort((one, other) => share(one) - share(other)).map(({ run }) => run);
}

/** @returns {{ bin: string, version: string }[]} */
function neovims() {
  const found = execFileSync(join(root, "scripts/nvim.sh"), { encoding: "utf8" }).trim().split("\n");
  return found.map((bin) => ({ bin, version: versionOf(bin) }));
}

/** @returns {string} the first line of `--version` */
function versionOf(program) {
  return execFileSync(program, ["--version"], { encoding: "utf8" }).split("\n", 1)[0];
}

/** Finds the installed Nodes whose major version is not that of the running Node. */
function otherNodes() {
  const major = (version) => Number.parseInt(version, 10);
  return ["20", "22", "24"]
    .filter((version) => major(version) !== major(process.versions.node))
    .map((version) => {
      const name = `node-${version}-${process.platform}-${process.arch}`;
      return join(root, ".nodes/node_modules", name, "bin/node");
    })
    .filter(existsSync);
}

function allTests() {
  return readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => join("test", file))
    .sort()
    .reverse(); // starts with the last files by name, because they take longest
}
