// Fails if Lua modules or their folders require each other in a circle. A `require` within a function counts. No
// maintained tool does this for Lua; .dependency-cruiser.mjs does it for src.
// usage: node scripts/check-modules.mjs [folder that holds lua/gemini-bridge]
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const top = join(process.argv[2] ?? join(import.meta.dirname, ".."), "lua/gemini-bridge");
const modules = new Map();
const folders = new Map();
for (const file of readdirSync(top, { recursive: true, encoding: "utf8" })) {
  if (!file.endsWith(".lua")) continue;
  const path = `gemini-bridge/${file.slice(0, -".lua".length)}`.replace(/\/init$/, "");
  const code = readFileSync(join(top, file), "utf8").replace(/^\s*--.*$/gm, "");
  const required = [...code.matchAll(/\brequire\(?\s*"(gemini-bridge[\w.-]*)"/g)].map(([, name]) => name);
  modules.set(path.replaceAll("/", "."), new Set(required));
  const folder = folderOf(path.replaceAll("/", "."));
  const others = required.map(folderOf).filter((other) => other !== folder);
  folders.set(folder, new Set([...(folders.get(folder) ?? []), ...others]));
}

/** The folder of a module, or the module itself at the top. */
function folderOf(name) {
  return name.split(".").slice(0, 2).join(".");
}

/** @returns each circle once, by the first path that closes it */
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

const found = [...circles(modules), ...circles(folders)];
for (const circle of found) console.error(`check-modules: a circle of requires: ${circle.join(" > ")}`);
process.exitCode = found.length > 0 ? 1 : 0;
