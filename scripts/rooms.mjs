// Which folder knows which: as the code has it, and as doc/architecture.md says that it may.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** A folder at the top, or a file there, by its name without the ending. */
const roomOf = (file) =>
  file
    .replaceAll("\\", "/")
    .split("/")[0]
    .replace(/\.\w+$/, "");

/**
 * @param {string} top
 * @param {string} ending of the files that count
 * @param {(file: string, source: string) => string[]} known what a file requires, by paths relative to the top
 * @param {string} [loose] what all files at the top are called together
 * @returns {Map<string, Set<string>>} the rooms that each room knows
 */
function graphOf(top, ending, known, loose) {
  const name = (file) => (loose !== undefined && !/[/\\]/.test(file) ? loose : roomOf(file));
  const graph = new Map();
  for (const file of readdirSync(top, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(ending)) continue;
    const own = name(file);
    const others = known(file, readFileSync(join(top, file), "utf8")).map(name);
    graph.set(own, new Set([...(graph.get(own) ?? []), ...others.filter((other) => other !== own)]));
  }
  return graph;
}

function typescript(top) {
  const known = (file, source) =>
    [...source.matchAll(/^(?:import|export)\b[^;]*? from "(\.[^"]+)"/gm)]
      .map(([, path]) => relative(top, join(top, dirname(file), path)))
      .filter((path) => !path.startsWith(".."));
  return graphOf(top, ".ts", known, "src");
}

function lua(top) {
  const known = (_, source) =>
    [...source.replace(/^\s*--.*$/gm, "").matchAll(/\brequire\(?\s*["']gemini-bridge\.?([\w.-]*)["']/g)].map(
      ([, name]) => name.replace(/\..*/, "/x") || "init.lua",
    );
  return graphOf(top, ".lua", known);
}

/** @returns {Map<string, Set<string>>} the table below a heading */
function tableOf(page, heading) {
  const section = page.split(/^#+ /m).find((part) => part.startsWith(heading)) ?? "";
  const names = (cell) => [...cell.matchAll(/`([\w-]+)`/g)].map(([, name]) => name);
  return new Map(
    [...section.matchAll(/^\| `([\w-]+)` \|(.*)\|$/gm)].map(([, room, cell]) => [room, new Set(names(cell))]),
  );
}

/**
 * @param {string} root of the repository
 * @returns {string[]} where the page and the code differ
 */
export function roomProblems(root) {
  const path = join(root, "doc/architecture.md");
  if (!existsSync(path)) return [];
  const page = readFileSync(path, "utf8");
  const problems = [];
  for (const [heading, graph] of [
    ["src", typescript(join(root, "src"))],
    ["lua/gemini-bridge", lua(join(root, "lua/gemini-bridge"))],
  ]) {
    const said = tableOf(page, heading);
    const where = `doc/architecture.md, ${heading}`;
    for (const room of said.keys()) if (!graph.has(room)) problems.push(`${where}: there is no ${room}`);
    for (const [room, known] of graph) {
      const may = said.get(room);
      if (!may) problems.push(`${where}: ${room} is missing`);
      for (const other of may ?? [])
        if (!known.has(other)) problems.push(`${where}: ${room} does not know ${other}`);
      for (const other of known)
        if (may && !may.has(other)) problems.push(`${where}: ${room} knows ${other}, which it may not`);
    }
  }
  return problems;
}
