import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** Whether a process exists that is not a zombie. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return processTable().some((process) => process.pid === pid);
}

/** The pids of all processes below `pid`, children first. */
export function descendants(pid: number): number[] {
  const table = processTable();
  const found: number[] = [];
  for (let parents = [pid]; parents.length > 0; ) {
    parents = table.filter(({ ppid }) => parents.includes(ppid)).map((child) => child.pid);
    found.push(...parents);
  }
  return found;
}

/** Sends SIGKILL to each of the processes that still exists. */
export function killAll(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }
}

/** All processes but zombies. */
function processTable(): { pid: number; ppid: number }[] {
  const rows = process.platform === "linux" ? procRows() : psRows();
  return rows.flatMap(([pid, ppid, state]) =>
    state?.startsWith("Z") ? [] : [{ pid: Number(pid), ppid: Number(ppid) }],
  );
}

/** `ps` is not part of a small Linux system, /proc is. */
function procRows(): (string | undefined)[][] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        // "pid (name) state ppid …": the name may hold anything, a parenthesis too.
        const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
        const [state, ppid] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        return [[pid, ppid, state]];
      } catch {
        return []; // ended meanwhile
      }
    });
}

function psRows(): (string | undefined)[][] {
  const table = execFileSync("ps", ["-A", "-o", "pid=,ppid=,state="], { encoding: "utf8" });
  return table.split("\n").map((line) => line.trim().split(/\s+/));
}
