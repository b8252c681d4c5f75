// Runs the tests.
// - test/nvim and test/e2e run on every Neovim of scripts/nvim.sh.
// - test/outside and test/root are distributed over these Neovims.
// - All others run once. Without arguments, tests of the host run once more, on the other Node versions in .nodes.
// - All tests run as an ordinary user, except test/root, which runs only if root starts this script.
// - Some files in test/outside run only with a program that npm ci does not install: see PROGRAMS.
// The last line is "N passed, N failed".
// usage: node scripts/test.mjs [test file ...]
import { execFileSync } from "node:child_process";
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
const needsNeovim = files.filter((file) => /^test\/(nvim|e2e)\//.test(file));
/** Tests that do not depend on the version of Neovim. */
const outside = files.filter((file) => file.startsWith("test/outside/") || ofRoot(file));
const others = files.filter((file) => !needsNeovim.includes(file) && !outside.includes(file));

/** Tests that run on every Node: tests of the Node version itself, and one session with a real Neovim. */
const ofNode = ["unit/cache", "unit/v8-flags", "nvim/node"].map((name) => `test/${name}.test.ts`);
/**
 * Tests of functions and HTTP. Few of them depend on the version of Node. Therefore, they are distributed over the
 * other Nodes instead of running on each.
 */
const ofTheHost = others.filter((file) => /^test\/(unit|http)\//.test(file) && !ofNode.includes(file));

/** Distributes a list over several binaries. @returns the part of the list for the binary with the index `place` */
const inTurn = (all, several, place) => all.filter((_, number) => number % several.length === place);

const bins = needsNeovim.length + outside.length > 0 ? neovims() : [];
const nodes = named.length > 0 ? [] : otherNodes();

/**
 * Test files, each with the Neovim or Node on which it runs.
 * @type {{ file: string, on: string, node?: string, bin?: string, env?: Record<string, string> }[]}
 */
const runs = others.map((file) => ({ file, on: "" }));
for (const [index, bin] of bins.entries()) {
  const on = `, ${versionOf(bin)}`;
  for (const file of [...needsNeovim, ...inTurn(outside, bins, index)]) runs.push({ file, on, bin });
}
for (const [index, node] of nodes.entries()) {
  const on = `, Node ${versionOf(node)}`;
  // Runs only a tenth of the random cases on this Node. All cases run on the Node that runs this script.
  const env = { FUZZ: "0.1" };
  for (const file of [...ofNode, ...inTurn(ofTheHost, nodes, index)])
    runs.push({ file, on, node, bin: bins[0], env });
}

/** Test files, place and bundles for each user that runs tests (the ordinary user and root). */
const parts = [];
function partOf(file) {
  return parts.find(({ files }) => files.includes(file));
}

const total = { pass: 0, fail: 0 };
async function run({ file, on, node, bin, env }, number) {
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
      ...env,
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

/** @returns {string[]} */
function neovims() {
  return execFileSync(join(root, "scripts/nvim.sh"), { encoding: "utf8" }).trim().split("\n");
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
