/** Asks `ps` and `lsof` about processes, on macOS and other Unix systems without /proc. */
import { join, relative } from "node:path";
import { run } from "./program.ts";
import type { Connection, System } from "./system.ts";
import { isBelow, secondsOf, unix } from "./unix.ts";

/**
 * Folders that count as network drives, including everything in them. macOS has no table of mounts that could be read
 * as a file.
 */
const NETWORK_FOLDERS = ["/Volumes", "/Network", "/net"];

export const macos: System = {
  ...unix,
  name: "darwin",
  attributeCopy: ["-p"],
  settingsDirectory: (program, _, home) => join(home, "Library/Preferences", program),
  /** Ignores case: on macOS, two paths that differ only in case name the same directory. */
  isWithin: (outer, inner) => isBelow(relative(outer.toLowerCase(), inner.toLowerCase())),
  isUnknownUser: () => false,
  mounts: () => new Map(NETWORK_FOLDERS.map((place) => [place, true])),
  async startOf(pid) {
    const elapsed = (await run("ps", ["-o", "etime=", "-p", String(pid)])).trim();
    return elapsed === "" ? undefined : Date.now() - secondsOf(elapsed) * 1000;
  },
  async environment(pid) {
    return parseEnvironment(await run("ps", ["eww", "-o", "command=", "-p", String(pid)]));
  },
  async directory(pid) {
    return parseDirectory(await run("lsof", ["-a", "-p", String(pid), "-d", "cwd", "-Fn"]));
  },
  async words(pid) {
    const printed = await run("ps", ["-ww", "-o", "command=", "-p", String(pid)]);
    return printed.trim().split(/\s+/);
  },
  async connections(pids, ports) {
    if (ports.length === 0) return [];
    const selection = ["-a", "-p", pids.join(","), `-iTCP:${ports.join(",")}`, "-sTCP:ESTABLISHED"];
    return parseConnections(await run("lsof", ["-nP", ...selection, "-Fn"]), ports);
  },
};

/**
 * Parses one line of `ps eww`: the command, then the variables. If the value of a variable contains ` NAME=`, the rest
 * of the value is lost.
 * @param printed output of `ps`
 */
export function parseEnvironment(printed: string): Record<string, string> | undefined {
  const starts = [...printed.matchAll(/\s([A-Za-z_]\w*)=/g)];
  if (starts.length === 0) return undefined;
  const entries = starts.map((start, index) => {
    const value = printed.slice(start.index + start[0].length, starts[index + 1]?.index);
    return [start[1] ?? "", value.trim()] as const;
  });
  return Object.fromEntries(entries);
}

/**
 * Parses the working directory of a process.
 * @param printed output of `lsof -Fn`, with one field per line: `p` process, `f` descriptor, `n` name
 */
export function parseDirectory(printed: string): string | undefined {
  return /^n(.+)$/m.exec(printed)?.[1];
}

/**
 * Parses the connections of processes.
 * @param printed output of `lsof -Fn`, with names such as `127.0.0.1:52001->127.0.0.1:41234`
 */
export function parseConnections(printed: string, ports: readonly number[]): Connection[] {
  return [...printed.matchAll(/^n[^\s>]+:(\d+)->[^\s>]+:(\d+)$/gm)]
    .map(([, own, remote]) => ({ own: Number(own), remote: Number(remote) }))
    .filter(({ remote }) => ports.includes(remote));
}
