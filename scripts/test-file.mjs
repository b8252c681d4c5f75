// Runs one test file and collects its result.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { relative, resolve } from "node:path";
import { createInterface } from "node:readline";

/** Matches a stack frame of tap itself. Reports of failures omit such lines. */
const OF_TAP = /^\s+(\S+ \()?node_modules\/@tapjs\/.*:\d+\)?$/;

/** Time that a process may run after the timeout of its tests (ms). Then the process is killed. */
const GRACE_MS = 420_000;

/**
 * Runs a test file and returns tap's counts and the failures. Any other problem, such as an exit code, missing counts
 * or a skipped test, counts as at least one failure.
 * @param {{ node: string, path: string, cwd: string, env: NodeJS.ProcessEnv, ids: { uid?: number, gid?: number } }}
 *   file
 * @returns {Promise<{ pass: number, fail: number, failures: string[], milliseconds: number }>}
 */
export async function runFile({ node, path, cwd, env, ids }) {
  const start = performance.now();
  const child = spawn(node, [path], { cwd, env, stdio: ["ignore", "pipe", "pipe"], ...ids });
  const late = setTimeout(() => child.kill("SIGKILL"), Number(env.TAP_TIMEOUT) * 1000 + GRACE_MS);
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

/** Source maps by bundle. Cached, because parsing a map of some megabytes takes long. @type {Map<string, SourceMap>} */
const maps = new Map();

/**
 * Converts the positions in bundles to positions in the sources. Node's --enable-source-maps would cost each process
 * 0.2 s, even without failures.
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
