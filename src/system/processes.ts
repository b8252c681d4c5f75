/** The processes of this machine. */
import { basename } from "node:path";
import type { Process, ProcessTable } from "./system.ts";

/**
 * The processes that run a program, themselves or as a script of Node's. Of one that started itself anew, as Gemini
 * CLI does, only the first.
 * @param program its name, such as "gemini"
 */
export function processesOf(table: ProcessTable, program: string): Process[] {
  const runs = (process: Process) => {
    const [first, ...others] = process.command.split(" ").map((word) => basename(word));
    return first === program || (first === "node" && others.includes(program));
  };
  const found = [...table.values()].filter(runs);
  const isFound = (pid: number) => found.some((process) => process.pid === pid);
  return found.filter(({ parent }) => !isFound(parent)).sort((a, b) => a.pid - b.pid);
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
