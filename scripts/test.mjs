// Runs the tests. tap's own runner can run a file neither on several Neovims and Nodes nor as another user.
// - Files of VERSION_DEPENDENT, and named files, run on every Neovim of scripts/nvim.sh. Other files run on one of them.
// - Without arguments, files of ON_EVERY_NODE run once more on each of the other Nodes in .nodes.
// - All tests run as an ordinary user, except test/root, which runs only if root starts this script.
// - Some files in test/outside run only with a program that npm ci does not install: see PROGRAMS.
// The last line is "N passed, N failed".
// usage: node scripts/test.mjs [test file ...]
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { availableParallelism } from "node:os";
import { delimiter, dirname, join, relative, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { ordinaryPlace, ownPlace } from "./ordinary-user.mjs";
import { bundleTests } from "./test-bundle.mjs";

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

/** Time that a process may run after the timeout of its tests (ms). Then the process is killed. */
const GRACE_MS = 420_000;
const TIMEOUT_S = process.env.TAP_TIMEOUT ?? "180";

/**
 * Runs a test file and prints its result. An exit code, missing counts and skipped tests count as failures, too.
 * @returns {Promise<{ pass: number, fail: number }>}
 */
async function run({ file, on, node, bin }, number, { place, bundle }) {
  const start = performance.now();
  const program = node === undefined ? place.node : place.path(node);
  const env = {
    ...place.env,
    CHECK_CONTRACT: "1", // enables the checks of calls in test/support/contract.ts
    TAP_TIMEOUT: TIMEOUT_S,
    // Puts the Node of this run first on PATH, because Neovim starts the host with the first Node on PATH.
    PATH: dirname(program) + delimiter + process.env.PATH,
    NODE_EXTRA_CA_CERTS: undefined, // Node 20 would parse a file of certificates at each start
    ...(bin && { NVIM_BIN: place.path(bin) }),
  };
  const stdio = ["ignore", "pipe", "pipe"];
  const child = spawn(program, [bundle.path(file)], { cwd: place.root, env, stdio, ...place.ids });
  const late = setTimeout(() => child.kill("SIGKILL"), Number(TIMEOUT_S) * 1000 + GRACE_MS);
  const exit = new Promise((resolve) => child.once("close", (code, signal) => resolve(code ?? signal)));
  const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  clearTimeout(late);
  const count = (name) => Number(new RegExp(`^# \\{ .*\\b${name}: (\\d+)`, "m").exec(output)?.[1] ?? 0);
  const isGood = code === 0 && count("total") > 0 && count("skip") + count("todo") === 0;
  const fail = isGood ? count("fail") : Math.max(count("fail") + count("skip") + count("todo"), 1);
  const took = Math.round(performance.now() - start);
  console.log(`${fail > 0 ? "not ok" : "ok"} ${number} - ${file}${on} # time=${took}ms`);
  if (fail > 0) console.log(withSources(`${failures(output)}${errors}# ended with ${code}`, place.root));
  return { pass: count("pass"), fail };
}

/** Returns the failures in the output of tap, with their diagnoses. */
function failures(output) {
  const found = [];
  let indent;
  for (const line of output.split("\n")) {
    const own = line.search(/\S/);
    if (/^ *not ok | # (SKIP|TODO)/.test(line)) indent = own;
    else if (own >= 0 && own <= (indent ?? Number.POSITIVE_INFINITY)) indent = undefined;
    if (indent !== undefined) found.push(`${line}\n`);
  }
  return found.join("");
}

/** Converts the positions in bundles to positions in the sources. Node's own conversion would slow down every test. */
function withSources(output, root) {
  const maps = new Map();
  return output.replace(
    /(?:file:\/\/)?([^\s()]*\.tap\/tests-[^\s()]+\.mjs):(\d+):(\d+)/g,
    (place, file, row, column) => {
      const bundle = resolve(root, file);
      const map = maps.get(bundle) ?? new SourceMap(JSON.parse(readFileSync(`${bundle}.map`, "utf8")));
      maps.set(bundle, map);
      const { fileName, lineNumber, columnNumber } = map.findOrigin(Number(row), Number(column));
      return fileName
        ? `${relative(root, resolve(bundle, "..", fileName))}:${lineNumber}:${columnNumber}`
        : place;
    },
  );
}

/** Sorts runs by a hash. Files of one kind then do not run at the same time: some keep a processor busy, some wait. */
function mixed(runs) {
  const hash = ({ file, on }) =>
    createHash("sha1")
      .update(file + on)
      .digest("hex");
  return runs.toSorted((one, other) => (hash(one) < hash(other) ? -1 : 1));
}

const total = { pass: 0, fail: 0 };
const queue = mixed(runs).map((each, index) => ({ ...each, number: index + 1 }));
const parts = new Map();
/** Runs files one after the other until the queue is empty. */
async function work() {
  for (let next = queue.shift(); next; next = queue.shift()) {
    const { pass, fail } = await run(next, next.number, parts.get(ofRoot(next.file)));
    total.pass += pass;
    total.fail += fail;
  }
}
try {
  for (const isOfRoot of [false, true]) {
    const ofPart = files.filter((file) => ofRoot(file) === isOfRoot);
    if (ofPart.length === 0) continue;
    const part = { place: isOfRoot ? ownPlace(root) : ordinaryPlace(root) };
    parts.set(isOfRoot, part);
    part.bundle = await bundleTests(part.place.root, ofPart);
  }
  // Most tests wait most of the time.
  await Promise.all(Array.from({ length: 2 * availableParallelism() }, work));
} finally {
  for (const { bundle, place } of parts.values()) {
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
    .map((file) => join("test", file));
}
