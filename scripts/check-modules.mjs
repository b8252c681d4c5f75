// Checks the following rules, mostly for the Lua modules, because no maintained tool checks such rules for Lua. For the
// modules in src, see .dependency-cruiser.mjs.
// - Modules and folders do not require each other in a cycle. A `require` within a function counts, and so do
//   `lazy` (see lua/gemini-bridge/calls.lua) and `package.loaded`.
// - Each required module exists.
// - Folders that change windows or text use only the scheduler's timers. They do not watch files: the host does that.
// - In Lua and in src, the folders of features for all CLIs do not mention Claude Code. Its protocol is in src/claude
//   and in the profiles.
// usage: node scripts/check-modules.mjs [folder that contains lua/gemini-bridge]
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const top = join(process.argv[2] ?? join(import.meta.dirname, ".."), "lua/gemini-bridge");
/** Folders whose modules change windows or text. */
const SCHEDULED = /^(review|editor|changes|disk|terminal)\//;
/** The only file in these folders that may use timers. */
const SCHEDULER = "editor/scheduler.lua";
const TIMERS =
  /\bvim\.(schedule|schedule_wrap|defer_fn|fn\.timer_start|(uv|loop)\.new_(timer|idle|fs_event|fs_poll))\b/g;

const modules = new Map();
const folders = new Map();
const problems = [];
for (const file of readdirSync(top, { recursive: true, encoding: "utf8" })) {
  if (!file.endsWith(".lua")) continue;
  const path = `gemini-bridge/${file.slice(0, -".lua".length)}`.replace(/\/init$/, "");
  const code = readFileSync(join(top, file), "utf8").replace(/^\s*--.*$/gm, "");
  for (const [timer] of SCHEDULED.test(file) && file !== SCHEDULER ? code.matchAll(TIMERS) : [])
    problems.push(`${file} uses ${timer} instead of ${SCHEDULER}`);
  const uses = code.matchAll(/\b(?:require|lazy|package\.loaded)[([]?\s*"(gemini-bridge(?:\.[\w-]+)*)"/g);
  const required = [...uses].map(([, name]) => name);
  modules.set(path.replaceAll("/", "."), new Set(required));
  const folder = folderOf(path.replaceAll("/", "."));
  const others = required.map(folderOf).filter((other) => other !== folder);
  folders.set(folder, new Set([...(folders.get(folder) ?? []), ...others]));
}

/** Folders of features for all CLIs. */
const GENERAL = /^(review|context|changes|turns|model)\//;
for (const directory of [top, join(top, "../../src")]) {
  if (!existsSync(directory)) continue;
  for (const file of readdirSync(directory, { recursive: true, encoding: "utf8" }))
    if (
      GENERAL.test(file) &&
      /\.(ts|lua)$/.test(file) &&
      /claude/i.test(readFileSync(join(directory, file), "utf8"))
    )
      problems.push(`${join(directory, file)} names Claude Code`);
}

/** Returns the folder of a module. Returns the module itself if it is in no folder. */
function folderOf(name) {
  return name.split(".").slice(0, 2).join(".");
}

/** Finds cycles of requires. @returns each cycle once */
function circles(graph) {
  const found = [];
  const done = new Set();
  function visit(node, path) {
    const start = path.indexOf(node);
    if (start >= 0) found.push([...path.slice(start), node]);
    if (start >= 0 || done.has(node)) return;
    for (const next of graph.get(node) ?? []) visit(next, [...path, node]);
    done.add(node);
  }
  for (const node of graph.keys()) visit(node, []);
  return found;
}

for (const circle of [...circles(modules), ...circles(folders)])
  problems.push(`a circle of requires: ${circle.join(" > ")}`);
for (const [name, required] of modules)
  for (const other of required)
    if (!modules.has(other)) problems.push(`${name} requires ${other}, which is missing`);
for (const problem of problems) console.error(`check-modules: ${problem}`);
process.exitCode = problems.length > 0 ? 1 : 0;
