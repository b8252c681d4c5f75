// Checks that functions are short and simple:
// - at most 80 lines, not counting the functions inside
// - a cognitive complexity of at most 15 (TypeScript only; measured by biome)
// LIST contains the number of such functions for each file that has any. A new one is an error. So is a number that is
// too high, because the list only becomes shorter.
// usage: node scripts/check-functions.mjs [folder with the files]
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const MAX_LINES = 80;
const LIST = "scripts/functions-over-limit.json";

const root = process.argv[2] ?? join(import.meta.dirname, "..");
const read = (file) => readFileSync(join(root, file), "utf8");

/**
 * Finds the functions of a TypeScript file that take several lines.
 * @returns {{ first: number, last: number }[]} outer functions before inner functions; the first line is 1
 */
function functionsOfTypeScript(file) {
  const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest);
  const found = [];
  const lineOf = (position) => source.getLineAndCharacterOfPosition(position).line + 1;
  function visit(node) {
    if (ts.isFunctionLike(node) && node.body)
      found.push({ first: lineOf(node.getStart(source)), last: lineOf(node.end) });
    ts.forEachChild(node, visit);
  }
  visit(source);
  return found.filter(({ first, last }) => last > first);
}

/** The same for Lua. Relies on the indentation by stylua. */
function functionsOfLua(file) {
  const lines = read(file).split("\n");
  const indent = (line) => line.search(/\S/);
  return lines.flatMap((line, index) => {
    if (!/^[^-]*\bfunction\b[^()]*\([^()]*\)?$/.test(line)) return [];
    const isEnd = (other, at) => at > index && indent(other) === indent(line) && /^\s*end\b/.test(other);
    return [{ first: index + 1, last: lines.findIndex(isEnd) + 1 }];
  });
}

/** @returns {{ file: string, line: number, problem: string }[]} */
function longFunctions(file) {
  const all = (file.endsWith(".lua") ? functionsOfLua : functionsOfTypeScript)(file);
  const length = ({ first, last }) => last - first + 1;
  return all.flatMap((each, index) => {
    const inside = all.slice(index + 1).filter(({ last }) => last <= each.last);
    // Leaves out functions that are inside another inner function.
    const direct = inside.filter(({ first }, at) => !inside.slice(0, at).some(({ last }) => first <= last));
    const lines = length(each) - direct.reduce((sum, inner) => sum + length(inner), 0);
    return lines > MAX_LINES
      ? [{ file, line: each.first, problem: `${lines} lines, at most ${MAX_LINES}` }]
      : [];
  });
}

/** @returns {{ file: string, line: number, problem: string }[]} */
function complexFunctions() {
  const rule = "--only=complexity/noExcessiveCognitiveComplexity";
  const words = ["lint", rule, "--reporter=json", "--max-diagnostics=none"];
  const biome = join(import.meta.dirname, "../node_modules/.bin/biome");
  const { stdout } = spawnSync(biome, words, { cwd: root, encoding: "utf8" });
  return JSON.parse(stdout).diagnostics.map(({ message, location }) => ({
    file: location.path,
    line: location.start.line,
    problem: message,
  }));
}

const list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
const files = execFileSync("git", list, { cwd: root, encoding: "utf8" })
  .split("\0")
  .filter((file) => /\.([mc]?[jt]s|lua)$/.test(file) && existsSync(join(root, file)));
const known = JSON.parse(read(LIST));
const problems = [];
for (const [kind, found] of Object.entries({
  long: files.flatMap(longFunctions),
  complex: complexFunctions(),
})) {
  for (const file of new Set([...Object.keys(known[kind]), ...found.map(({ file }) => file)])) {
    const ofFile = found.filter((each) => each.file === file);
    const allowed = known[kind][file] ?? 0;
    if (ofFile.length > allowed)
      for (const { line, problem } of ofFile) problems.push(`${file}:${line}: ${problem}`);
    else if (ofFile.length < allowed)
      problems.push(`${LIST}: set "${kind}" of ${file} to ${ofFile.length}, or remove the line if that is 0`);
  }
}
for (const problem of problems) console.error(`check-functions: ${problem}`);
process.exitCode = problems.length > 0 ? 1 : 0;
