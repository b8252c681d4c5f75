// Runs one file of tests and says what came of it.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { relative, resolve } from "node:path";
import { createInterface } from "node:readline";

/** Frames that say nothing of what failed. */
const OF_TAP = /^\s+(\S+ \()?node_modules\/@tapjs\/.*:\d+\)?$/;

/** Milliseconds: a test has its own limit, this is for a process that does not end after it. */
const LIMIT = 600_000;

/**
 * Runs a file and keeps all that it says of failures. The counts are tap's own; whatever else went wrong (an exit
 * code, no counts, a test that was skipped) counts as one failure at least.
 * @param {{ node: string, path: string, cwd: string, env: NodeJS.ProcessEnv, ids: { uid?: number, gid?: number } }} file
 * @returns {Promise<{ pass: number, fail: number, failures: string[], milliseconds: number }>}
 */
export async function runFile({ node, path, cwd, env, ids }) {
  const start = performance.now();
  const child = spawn(node, [path], { cwd, env, stdio: ["ignore", "pipe", "pipe"], ...ids });
  const late = setTimeout(() => child.kill("SIGKILL"), LIMIT);
  const exit = new Promise((resolve) => child.once("close", (code, signal) => resolve(code ?? signal)));
  const counts = { total: 0, pass: 0, fail: 0, skip: 0, todo: 0 };
  const failures = [];
  let diagnosisIndent;
  child.stderr.setEncoding("utf8").on("data", (text) => failures.push(text.trimEnd()));
  for await (const line of createInterface({ input: child.stdout })) {
    const indent = line.search(/\S/);
    const closing = /^# \{ (total: .*) \}$/.exec(line);
    if (closing) {
      for (const [, name, count] of closing[1].matchAll(/(\w+): (\d+)/g)) counts[name] = Number(count);
    } else if (/^ *not ok /.test(line) || / # (SKIP|TODO)/.test(line)) {
      failures.push(line);
      diagnosisIndent = /^ *not ok /.test(line) ? indent : undefined;
    } else if (diagnosisIndent !== undefined && indent > diagnosisIndent) {
      failures.push(line);
    } else if (indent >= 0) {
      diagnosisIndent = undefined;
    }
  }
  const code = await exit;
  clearTimeout(late);
  const { pass, fail, skip, todo, total } = counts;
  const isBroken = code !== 0 || total === 0 || skip > 0 || todo > 0;
  if (isBroken) failures.push(`# ended with ${code}, ${total} assertions`);
  return {
    pass,
    fail: isBroken ? Math.max(fail + skip + todo, 1) : fail,
    failures: failures.map((line) => withSources(line, cwd)).filter((line) => !OF_TAP.test(line)),
    milliseconds: performance.now() - start,
  };
}

/** By bundle: a stack has many places in a few, and a map may be of megabytes. @type {Map<string, SourceMap>} */
const maps = new Map();

/**
 * Says where in the sources a place in a bundle is. Node's own way, --enable-source-maps, costs each process 0.2 s, most
 * of which have no failure to tell of.
 * @param {string} line
 * @param {string} root of the repository
 */
function withSources(line, root) {
  return line.replace(
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
