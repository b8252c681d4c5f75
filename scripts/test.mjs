// Runs the tests: those in test/nvim and test/e2e on every Neovim that scripts/nvim.sh names, all others
// once; then those of the host again on each Node that `make` has put into .nodes, when no file is named.
// The last line printed is "N passed, N failed".
// usage: node scripts/test.mjs [test file ...]
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { delimiter, dirname, join, relative, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const named = process.argv.slice(2).map((file) => relative(root, resolve(file)));
const files = named.length > 0 ? named : allTests();
const needsNeovim = files.filter((file) => /^test\/(nvim|e2e)\//.test(file));
const others = files.filter((file) => !needsNeovim.includes(file));

/** What tells whether the host runs on a Node: functions, HTTP, and one session with a real Neovim. */
const ofTheHost = files.filter((file) => /^test\/(unit|http)\/|^test\/nvim\/node\.test\.ts$/.test(file));

const runs = [];
if (others.length > 0) runs.push({ title: "without Neovim", files: others, node: process.execPath, env: {} });
for (const [index, bin] of (needsNeovim.length > 0 ? neovims() : []).entries()) {
  const version = execFileSync(bin, ["--version"], { encoding: "utf8" }).split("\n", 1)[0];
  const env = { NVIM_BIN: bin };
  runs.push({ title: `${version} (${bin})`, files: needsNeovim, node: process.execPath, env });
  if (index > 0 || named.length > 0) continue;
  for (const node of otherNodes()) {
    const version = execFileSync(node, ["--version"], { encoding: "utf8" }).trim();
    runs.push({ title: `the host on Node ${version}`, files: ofTheHost, node, env });
  }
}

const total = { pass: 0, fail: 0 };
// One after another: two runs of tap in one folder share its cache.
for (const run of runs) {
  console.log(`\n# ${run.title}`);
  const { pass, fail } = await runTap(run);
  total.pass += pass;
  total.fail += fail;
}
if (total.pass + total.fail === 0) {
  console.log("no test ran");
  total.fail = 1;
}
console.log(`\n${total.pass} passed, ${total.fail} failed`);
process.exitCode = total.fail > 0 ? 1 : 0;

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
    .sort();
}

/**
 * Runs tap and prints a line for each file and all about what failed. The counts are tap's own; whatever else
 * went wrong (an exit code, no counts, a file that was skipped) counts as one failure at least.
 * @returns {Promise<{ pass: number, fail: number }>}
 */
async function runTap({ files, node, env }) {
  // Neovim starts the host with the Node that it finds on PATH.
  const PATH = dirname(node) + delimiter + process.env.PATH;
  const tap = spawn(node, [join(root, "node_modules/tap/dist/esm/run.mjs"), "--reporter=tap", ...files], {
    cwd: root,
    env: { ...process.env, PATH, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exit = new Promise((resolve) => tap.once("exit", (code) => resolve(code)));
  const counts = { total: 0, pass: 0, fail: 0, skip: 0, todo: 0 };
  let diagnosisIndent;
  for await (const line of createInterface({ input: tap.stdout })) {
    const indent = line.search(/\S/);
    const closing = /^# \{ (total: .*) \}$/.exec(line);
    if (closing) {
      for (const [, name, count] of closing[1].matchAll(/(\w+): (\d+)/g)) counts[name] = Number(count);
    } else if (/^ *not ok /.test(line) || /^ok /.test(line) || / # (SKIP|TODO)/.test(line)) {
      console.log(line);
      diagnosisIndent = /^ *not ok /.test(line) ? indent : undefined;
    } else if (diagnosisIndent !== undefined && indent > diagnosisIndent) {
      console.log(line);
    } else if (indent >= 0) {
      diagnosisIndent = undefined;
    }
  }
  const failed = (await exit) !== 0 || counts.total === 0 || counts.skip > 0 || counts.todo > 0;
  return {
    pass: counts.pass,
    fail: failed ? Math.max(counts.fail + counts.skip + counts.todo, 1) : counts.fail,
  };
}
