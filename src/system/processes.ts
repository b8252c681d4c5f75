/** The processes of this machine. */
import { basename } from "node:path";
import type { Process, ProcessTable } from "./system.ts";

/**
 * The processes that run a program, themselves or as a script of Node's. Of one that started itself anew, as Gemini
 * CLI does, only the first.
 * @param program its command line, and the npm package whose scripts run it
 */
export function processesOf(
  table: ProcessTable,
  { cmd: [program = ""], package: name }: { cmd: readonly string[]; package?: string | undefined },
): Process[] {
  const names = ["", ".js", ".mjs", ".cjs"].map((ending) => basename(program) + ending);
  const isScript = (word: string) =>
    names.includes(basename(word)) || (name !== undefined && isIn(name, word));
  const runs = (process: Process) => {
    const [first = "", ...others] = process.command.split(" ");
    return basename(first) === basename(program) || (isNode(first) && others.some(isScript));
  };
  const found = [...table.values()].filter(runs);
  const isFound = (pid: number) => found.some((process) => process.pid === pid);
  return found.filter(({ parent }) => !isFound(parent)).sort((a, b) => a.pid - b.pid);
}

function isNode(program: string): boolean {
  return /^node(js)?$/.test(basename(program));
}

/** Whether a file belongs to an npm package itself, and not to one that it depends on. */
function isIn(name: string, file: string): boolean {
  const [, rest] = `/${file}`.split(`/node_modules/${name}/`);
  return rest !== undefined && !rest.includes("node_modules/");
}

/** A process and all below it. */
export function familyOf(table: ProcessTable, pid: number): number[] {
  const children = [...table.values()].filter(({ parent }) => parent === pid);
  return [pid, ...children.flatMap((child) => familyOf(table, child.pid))];
}

/** Whether a process exists, of whichever user. */
export function isAlive(pid: number): boolean {
  if (pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
