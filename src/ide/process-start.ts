/** When a process began: its number alone does not tell it from one that had it before. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { secondsOf } from "../cli/processes/elapsed.ts";

/** Clock ticks of a second in /proc, on every machine that runs Node (`getconf CLK_TCK`). */
const TICKS = 100;

/** `ps` answers at once or hangs (milliseconds). */
const PATIENCE = 2_000;

/** @returns Unix milliseconds, exact to about a second; nothing when there is no such process, or nobody tells */
export async function startOf(pid: number): Promise<number | undefined> {
  const age = process.platform === "linux" ? ageOnLinux(pid) : await ageByPs(pid);
  return age === undefined ? undefined : Date.now() - age * 1000;
}

/** In seconds, counted from this process: a container may have a clock of its own for all of the machine. */
function ageOnLinux(pid: number): number | undefined {
  const [own, other] = [ticks("self"), ticks(String(pid))];
  return own === undefined || other === undefined ? undefined : process.uptime() + (own - other) / TICKS;
}

/** When a process began, after the machine did (proc_pid_stat(5), field 22). */
function ticks(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // "pid (name) state …": the name may hold anything, a parenthesis too.
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
  } catch {
    return undefined;
  }
}

function ageByPs(pid: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    execFile("ps", ["-o", "etime=", "-p", String(pid)], { timeout: PATIENCE }, (error, elapsed) =>
      resolve(error ? undefined : secondsOf(elapsed.trim())),
    );
  });
}
