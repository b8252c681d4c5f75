/** The processes of this machine as `ps` tells of them, which is what Gemini CLI asks, too. */
import { basename } from "node:path";
import { secondsOf } from "./elapsed.ts";
import { run } from "./run.ts";

/** A CLI looks for one of these above itself, and no further up than this (Gemini CLI 0.61.0, `process-utils`). */
const SHELLS = new Set(["zsh", "bash", "sh", "tcsh", "csh", "ksh", "fish", "dash"]);
const MAX_DEPTH = 32;

export interface Process {
  readonly pid: number;
  readonly parent: number;
  /** How long it has been running. */
  readonly seconds: number;
  /** Its command line, the arguments separated by blanks. */
  readonly command: string;
}

/** All processes of one moment, by their ids. */
export type ProcessTable = ReadonlyMap<number, Process>;

/** @returns an empty table where there is no `ps`; a CLI then finds as little */
export async function readProcessTable(): Promise<ProcessTable> {
  const lines = await run("ps", ["-A", "-ww", "-o", "pid=,ppid=,etime=,command="]);
  const table = new Map<number, Process>();
  for (const [, pid, parent, elapsed = "", command = ""] of lines.matchAll(LINE)) {
    const process = { pid: Number(pid), parent: Number(parent), seconds: secondsOf(elapsed), command };
    table.set(process.pid, process);
  }
  return table;
}

const LINE = /^ *(\d+) +(\d+) +(\S+) *(.*?) *$/gm;

/**
 * The process that a CLI takes for its editor: from itself upwards to the first shell, and from there to that shell's
 * grandparent; without a shell, the topmost process.
 */
export function editorProcess(table: ProcessTable, cli: number): number {
  let current = cli;
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const process = table.get(current);
    if (process && SHELLS.has(programOf(process))) return editorAboveShell(table, process.parent);
    if (!process || process.parent <= 1) break;
    current = process.parent;
  }
  return current;
}

/** The end of that walk from a shell below `pid`: its parent, unless that is init. */
export function editorAboveShell(table: ProcessTable, pid: number): number {
  const parent = table.get(pid)?.parent ?? 0;
  return parent > 1 ? parent : pid;
}

/** As the CLI takes it: the last part of the command line's first word. */
function programOf({ command }: Process): string {
  return basename(command.split(" ", 1)[0] ?? "");
}

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
