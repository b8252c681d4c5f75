/** Reads memory and processor time of processes. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
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

/** Sums a measurement over all processes that a Neovim has started, such as the host. */
export function sumBelow(pid: number, measure: (pid: number) => number): number {
  return descendants(pid).reduce((total, child) => total + measure(child), 0);
}
