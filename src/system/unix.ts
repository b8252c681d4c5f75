/** Implements the functions that are the same on Linux and macOS. */
import { basename } from "node:path";
import { run } from "./program.ts";
import type { Process, ProcessTable, System } from "./system.ts";

/**
 * Shells for which a CLI looks among its ancestors. The CLI checks at most MAX_DEPTH ancestors (Gemini CLI 0.61.0,
 * `process-utils`).
 */
const SHELLS = new Set(["zsh", "bash", "sh", "tcsh", "csh", "ksh", "fish", "dash"]);
const MAX_DEPTH = 32;

/** Mode of a file that only its owner can read and write. */
const PRIVATE = 0o600;

export const unix = {
  temporaryDirectory(env) {
    const path = env["TMPDIR"] || env["TMP"] || env["TEMP"] || "/tmp";
    return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
  },
  isOwn: (uid) => uid === process.getuid?.(),
  isPrivate: (mode) => mode === PRIVATE,
  isDefunct: () => false,
  async processes() {
    return parseProcesses(await run("ps", ["-A", "-ww", "-o", "pid=,ppid=,etime=,command="]));
  },
  /**
   * Looks for the first shell above the CLI, and takes the shell's grandparent. Without a shell, takes the topmost
   * process.
   */
  editorProcess(table, cli): number {
    let current = cli;
    for (let depth = 0; depth < MAX_DEPTH; depth++) {
      const process = table.get(current);
      if (process && SHELLS.has(programOf(process))) return unix.editorAboveShell(table, process.parent);
      if (!process || process.parent <= 1) break;
      current = process.parent;
    }
    return current;
  },
  /** Takes the parent of the process, or the process itself if its parent is init. */
  editorAboveShell(table, pid): number {
    const parent = table.get(pid)?.parent ?? 0;
    return parent > 1 ? parent : pid;
  },
} satisfies Partial<System>;

/**
 * Returns the name of the program as the CLI sees it: the last path component of the first word of the command line.
 */
function programOf({ command }: Process): string {
  return basename(command.split(" ", 1)[0] ?? "");
}

const LINE = /^ *(\d+) +(\d+) +(\S+)(.*)$/gm;

/**
 * Parses a table of processes.
 * @param printed output of `ps`: process id, parent, elapsed time, command line
 */
export function parseProcesses(printed: string): ProcessTable {
  const table = new Map<number, Process>();
  for (const [, pid, parent, elapsed = "", command = ""] of printed.matchAll(LINE)) {
    const seconds = secondsOf(elapsed);
    table.set(Number(pid), { pid: Number(pid), parent: Number(parent), seconds, command: command.trim() });
  }
  return table;
}

/**
 * Parses the elapsed time of a process.
 * @param elapsed time since the start of the process, as `ps` prints it: `[[dd-]hh:]mm:ss`
 * @returns seconds
 */
export function secondsOf(elapsed: string): number {
  const [seconds = 0, minutes = 0, hours = 0, days = 0] = elapsed.split(/[-:]/).map(Number).reverse();
  return ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
}

/**
 * Whether a relative path leads to its start directory or to something below it.
 * @param way result of `path.relative`
 */
export function isBelow(way: string): boolean {
  return way !== ".." && !way.startsWith("../");
}
