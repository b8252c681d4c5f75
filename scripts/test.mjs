// Runs the tests: those in test/nvim and test/e2e on every Neovim that scripts/nvim.sh names, those in test/outside on one
// of them in turn, all others once. When no file is named, those of the host run again, on the Nodes that `make` has put
// into .nodes in turn.
// The last line printed is "N passed, N failed".
// usage: node scripts/test.mjs [test file ...]
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { delimiter, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleTests } from "./test-bundle.mjs";
import { runFile } from "./test-file.mjs";
import { keepBusy } from "./test-queue.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const named = process.argv.slice(2).map((file) => relative(root, resolve(file)));
const files = named.length > 0 ? named : allTests();
const needsNeovim = files.filter((file) => /^test\/(nvim|e2e)\//.test(file));
/** About what is not Neovim's: another release of it proves nothing twice. */
const outside = files.filter((file) => file.startsWith("test/outside/"));
const others = files.filter((file) => !needsNeovim.includes(file) && !outside.includes(file));

/** About Node itself, beside one session with a real Neovim. */
const ofNode = ["unit/cache", "unit/v8-flags", "nvim/node"].map((name) => `test/${name}.test.ts`);
/** Functions and HTTP: what differs from Node to Node shows in few of them. */
const ofTheHost = others.filter((file) => /^test\/(unit|http)\//.test(file) && !ofNode.includes(file));

/** The share of one of several, by its place among them. */
const inTurn = (all, several, place) => all.filter((_, number) => number % several.length === place);

/** Files, each with what it runs on. @type {{ file: string, on: string, node: string, env: Record<string, string> }[]} */
const runs = [];
function add(on, names, node, env) {
  for (const file of names) runs.push({ file, on, node, env });
}
add("", others, process.execPath, {});
const bins = needsNeovim.length + outside.length > 0 ? neovims() : [];
for (const [index, bin] of bins.entries()) {
  const version = execFileSync(bin, ["--version"], { encoding: "utf8" }).split("\n", 1)[0];
  const names = [...needsNeovim, ...inTurn(outside, bins, index)];
  add(`, ${version}`, names, process.execPath, { NVIM_BIN: bin });
}
const nodes = named.length > 0 ? [] : otherNodes();
for (const [index, node] of nodes.entries()) {
  const version = execFileSync(node, ["--version"], { encoding: "utf8" }).trim();
  // What differs is Node, not our own functions: a tenth of the random cases is enough for that.
  const env = { FUZZ: "0.1", NVIM_BIN: bins[0] };
  add(`, Node ${version}`, [...ofNode, ...inTurn(ofTheHost, nodes, index)], node, env);
}

/** Node 20 parses the certificates that are named there at each of its starts, which takes longer than all else. */
const { NODE_EXTRA_CA_CERTS: _, ...ownEnv } = process.env;

const total = { pass: 0, fail: 0 };
const bundle = await bundleTests(root, files);
async function run({ file, on, node, env }, number) {
  // Neovim starts the host with the Node that it finds on PATH.
  const PATH = dirname(node) + delimiter + process.env.PATH;
  const result = await runFile({
    node,
    path: bundle.path(file),
    cwd: root,
    env: { ...ownEnv, TAP_TIMEOUT: process.env.TAP_TIMEOUT ?? "180", PATH, ...env },
  });
  total.pass += result.pass;
  total.fail += result.fail;
  const took = `# time=${Math.round(result.milliseconds)}ms`;
  console.log(`${result.fail > 0 ? "not ok" : "ok"} ${number} - ${file}${on} ${took}`);
  for (const line of result.failures) console.log(`    ${line}`);
}
try {
  await keepBusy(mixed(runs).map((each, index) => () => run(each, index + 1)));
} finally {
  bundle.remove();
}
if (total.pass + total.fail === 0) {
  console.log("no test ran");
  total.fail = 1;
}
console.log(`\n# time=${Math.round(performance.now() / 1000)}s`);
console.log(`${total.pass} passed, ${total.fail} failed`);
process.exitCode = total.fail > 0 ? 1 : 0;

/** What keeps processors busy (the CLI starts) beside what waits for a clock (Neovim draws), all along. */
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

/** Those of other major versions than the one that runs this. */
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
    .reverse(); // what comes last by name takes longest, and would keep one processor busy at the end
}
