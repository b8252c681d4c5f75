/** Reads memory and processor time of processes. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { descendants } from "../test/support/processes.ts";

function ps(pid: number, column: string): string {
  return execFileSync("ps", ["-o", `${column}=`, "-p", String(pid)], { encoding: "utf8" }).trim();
}

/** Returns the resident memory of a process in MB (10^6 bytes). */
export function residentMemory(pid: number): number {
  if (process.platform !== "linux") return (Number(ps(pid, "rss")) * 1024) / 1e6;
  const [, kilobytes] = /^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return (Number(kilobytes) * 1024) / 1e6;
}

/**
 * Returns the processor time of all threads of a process since its start (ms). Exact on Linux; rounded to 10 ms
 * elsewhere.
 */
export function processorTime(pid: number): number {
  if (process.platform !== "linux") {
    const parts = ps(pid, "time").split(":").map(Number);
    return parts.reduce((total, part) => total * 60 + part, 0) * 1000;
  }
  return readdirSync(`/proc/${pid}/task`)
    .map((task) => Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "latin1").split(" ")[0]))
    .reduce((total, nanoseconds) => total + nanoseconds / 1e6, 0);
}

/** Sums a measurement over all processes that a Neovim has started, such as the host. */
export function sumBelow(pid: number, measure: (pid: number) => number): number {
  return descendants(pid).reduce((total, child) => total + measure(child), 0);
}
