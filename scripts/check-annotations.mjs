// Checks the LuaCATS annotations against the code, as no type checker for Lua can be had as a package: the names and the
// order of parameters, that a function which is public says what it takes, and that every type of ours is declared.
// usage: node scripts/check-annotations.mjs [folder that holds lua/gemini-bridge]
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = process.argv[2] ?? dirname(dirname(fileURLToPath(import.meta.url)));
const top = join(root, "lua/gemini-bridge");
const sources = readdirSync(top, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".lua"))
  .map((file) => [file, readFileSync(join(top, file), "utf8").split("\n")]);
const problems = [];

/** A function that is declared by name: what comes before its parameters, and these. */
const FUNCTION = /^\s*(?:local )?(?:function ([\w.:]+)|([\w.]+) = function)\s*\(([^)]*)\)/;

/** What the comment right above a line says, from top to bottom. */
function commentAbove(lines, at) {
  let first = at;
  while (/^\s*---/.test(lines[first - 1] ?? "")) first -= 1;
  return lines.slice(first, at);
}

/** @returns {string[]} the names that an annotation documents, without the mark of an optional one */
function documented(comment) {
  return comment.flatMap((line) => /^\s*---@param ([\w.]+|\.\.\.)\??/.exec(line)?.[1] ?? []);
}

const declared = new Set();
for (const [, lines] of sources)
  for (const line of lines) {
    const name = /^\s*---@(?:class|alias|enum) (?:\([^)]*\) )?([\w.]+)/.exec(line)?.[1];
    if (name) declared.add(name);
  }

for (const [file, lines] of sources) {
  lines.forEach((line, index) => {
    const where = `${file}:${index + 1}`;
    const [, , types] = /^\s*---@(param|field|return|type|alias|class|generic) (.*)$/.exec(line) ?? [];
    for (const [type] of (types ?? "").matchAll(/\bgemini_bridge\.\w+/g))
      if (!declared.has(type)) problems.push(`${where}: ${type} is declared nowhere`);

    const [, named, assigned, list = ""] = FUNCTION.exec(line) ?? [];
    const name = named ?? assigned;
    if (name === undefined) return;
    const parameters = list.split(",").flatMap((word) => word.trim() || []);
    const comment = commentAbove(lines, index);
    const names = documented(comment);
    // What the commands run has the shape that Neovim gives it, and is explained in the help.
    const isPublic = name.startsWith("M.") && !file.startsWith("commands");
    if (isPublic && comment.length === 0) problems.push(`${where}: ${name} says nothing of itself`);
    // One that is not used need not be explained.
    const wanted = parameters.filter((parameter) => !parameter.startsWith("_"));
    const explained = names.filter((parameter) => !parameter.startsWith("_"));
    if ((isPublic || explained.length > 0) && explained.join() !== wanted.join())
      problems.push(`${where}: ${name}(${wanted.join(", ")}) is annotated (${explained.join(", ")})`);
  });
}
for (const problem of problems) console.error(`check-annotations: ${problem}`);
process.exitCode = problems.length > 0 ? 1 : 0;
