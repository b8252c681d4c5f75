/** Finds and kills processes. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

type Row = (string | undefined)[];

const isLinux = process.platform === "linux";

/** Returns whether a process exists and is not a zombie. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const row = isLinux ? rowOf(String(pid)) : psRows().find(([found]) => found === String(pid));
  return row !== undefined && isRunning(row);
}

/** Returns the ids of all descendants of a process, children first. */
export function descendants(pid: number): number[] {
  const table = processTable();
  const found: number[] = [];
  for (let parents = [pid]; parents.length > 0; ) {
    parents = table.filter(({ ppid }) => parents.includes(ppid)).map((child) => child.pid);
    found.push(...parents);
  }
  return found;
}

/** Sends SIGKILL to processes. Ignores processes that have already ended. */
export function killAll(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // The process has already ended.
    }
  }
}

/** Returns all processes except zombies. */
function processTable(): { pid: number; ppid: number }[] {
  const rows = isLinux ? readdirSync("/proc").map(rowOf) : psRows();
  return rows.flatMap((row) =>
    row && isRunning(row) ? [{ pid: Number(row[0]), ppid: Number(row[1]) }] : [],
  );
}

const isRunning = ([, , state]: Row): boolean => state !== undefined && !state.startsWith("Z");

/** Returns process id, parent and state of a process. Reads /proc, because small Linux systems have no `ps`. */
function rowOf(pid: string): Row | undefined {
  if (!/^\d+$/.test(pid)) return undefined;
  try {
    // Format: "pid (name) state ppid …". The name may contain any character, even a parenthesis.
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const [state, ppid] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return [pid, ppid, state];
  } catch {
    return undefined; // the process has ended
  }
}

function psRows(): Row[] {
  const table = execFileSync("ps", ["-A", "-o", "pid=,ppid=,state="], { encoding: "utf8" });
  return table.split("\n").map((line) => line.trim().split(/\s+/));
}
