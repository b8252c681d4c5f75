// Checks how the Lua modules hang together: no circle of requires, neither of modules nor of folders (a `require`
// within a function counts), no file name used twice, no LuaCATS class declared twice.
// usage: node scripts/check-modules.mjs [folder that holds lua/gemini-bridge]
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = process.argv[2] ?? dirname(dirname(fileURLToPath(import.meta.url)));
const top = join(root, "lua/gemini-bridge");
const files = readdirSync(top, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".lua"));
const sources = new Map(files.map((file) => [moduleName(file), readFileSync(join(top, file), "utf8")]));
const problems = [];

/** @param {string} file relative to lua/gemini-bridge */
function moduleName(file) {
  const path = file.replaceAll("\\", "/").replace(/\.lua$/, "");
  return `gemini-bridge/${path}`.replace(/\/init$/, "").replaceAll("/", ".");
}

/** What a module requires of the plugin's own, its comments left out. */
function requirements(name, source) {
  const code = source.replace(/^\s*--.*$/gm, "");
  for (const [call] of code.matchAll(/\brequire\(?\s*(?:"gemini-bridge\.?"|'gemini-bridge\.?')\s*\.\./g))
    problems.push(`${name}: a name is put together, so that nobody can follow it: ${call}`);
  return [...code.matchAll(/\brequire\(?\s*["'](gemini-bridge[\w.-]*)["']/g)].map(([, required]) => {
    if (!sources.has(required)) problems.push(`${name} requires ${required}, which does not exist`);
    return required;
  });
}

/** The folder of a module, or the module itself when it stands at the top. */
function folderOf(name) {
  return name.split(".").slice(0, 2).join(".");
}

/**
 * @param {Map<string, Set<string>>} graph
 * @returns {string[][]} each circle once, by the first path that closes it
 */
function circles(graph) {
  const found = [];
  const done = new Set();
  const visit = (node, path) => {
    const start = path.indexOf(node);
    if (start >= 0) found.push([...path.slice(start), node]);
    if (start >= 0 || done.has(node)) return;
    for (const next of graph.get(node) ?? []) visit(next, [...path, node]);
    done.add(node);
  };
  for (const node of graph.keys()) visit(node, []);
  return found;
}

const modules = new Map();
const folders = new Map();
for (const [name, source] of sources) {
  const required = requirements(name, source);
  modules.set(name, new Set(required));
  const folder = folderOf(name);
  const outside = required.map(folderOf).filter((other) => other !== folder);
  folders.set(folder, new Set([...(folders.get(folder) ?? []), ...outside]));
}
for (const circle of [...circles(modules), ...circles(folders)])
  problems.push(`a circle of requires: ${circle.join(" > ")}`);

/** Reports each key that more than one file has. */
function once(what, pairs) {
  const owners = new Map();
  for (const [key, file] of pairs) owners.set(key, [...(owners.get(key) ?? []), file]);
  for (const [key, where] of owners)
    if (where.length > 1) problems.push(`${what} ${key} stands in ${where.join(" and ")}`);
}

once(
  "the name",
  files.map((file) => [basename(file), file]).filter(([name]) => name !== "init.lua"),
);
once(
  "the class",
  [...sources].flatMap(([name, source]) =>
    [...source.matchAll(/^\s*---@class (?:\([^)]*\) )?([\w.]+)/gm)].map(([, declared]) => [declared, name]),
  ),
);
for (const problem of problems) console.error(`check-modules: ${problem}`);
process.exitCode = problems.length > 0 ? 1 : 0;
