/** Reads processes, mounts and users from /proc, on Linux. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join, relative } from "node:path";
import { attempt } from "../base/attempt.ts";
import { macos } from "./macos.ts";
import type { Connection, MountTable, System } from "./system.ts";
import { isBelow, unix } from "./unix.ts";

/** The state of an established connection in /proc/net. */
const ESTABLISHED = "01";

/** Clock ticks per second in /proc (`getconf CLK_TCK`). The value is the same on every machine that runs Node. */
const TICKS_PER_SECOND = 100;

/** Types of file systems that another machine or a process serves. Only these can fail to answer. */
const NETWORK =
  /^(nfs4?|cifs|smb3|smbfs|ncpfs|afs|9p|autofs|beegfs|ceph|coda|davfs|glusterfs|gpfs|lustre|orangefs|pvfs2|fuse(\..*)?)$/;

/** Returns the start of this process (Unix milliseconds), according to the present time. */
function startOfThis(): number {
  return Date.now() - process.uptime() * 1000;
}

const START = startOfThis();

export const linux: System = {
  ...unix,
  name: "linux",
  attributeCopy: ["--attributes-only", "--preserve=all"],
  pathOfOpenFile: (descriptor) => `/proc/${process.pid}/fd/${descriptor}`,
  settingsDirectory: (program, env, home) => join(env["XDG_CONFIG_HOME"] || join(home, ".config"), program),
  isWithin: (outer, inner) => isBelow(relative(outer, inner)),
  isUnknownUser: (uid) =>
    uid === Number(read("/proc/sys/kernel/overflowuid") || Number.NaN) &&
    !isRootKnown(read("/proc/self/uid_map")),
  mounts() {
    const text = read("/proc/self/mountinfo");
    return text === "" ? macos.mounts() : parseMountInfo(text);
  },
  isDefunct: (pid) => statOf(String(pid))?.[0] === "Z",
  async startOf(pid) {
    // Computes the start relative to the start of this process, because a container may have its own boot time.
    const [own, other] = [ticks("self"), ticks(String(pid))];
    if (own === undefined || other === undefined) return undefined;
    // After a suspension or a change of the clock, the start of this process seems to be later or earlier than it was.
    // Uses the earlier time, so that a running process does not count as a later one.
    return Math.min(START, startOfThis()) + ((other - own) / TICKS_PER_SECOND) * 1000;
  },
  async environment(pid) {
    const entries = words(`/proc/${pid}/environ`).map((entry) => {
      const at = entry.indexOf("=");
      return [entry.slice(0, at), entry.slice(at + 1)] as const;
    });
    return entries.length > 0 ? Object.fromEntries(entries) : undefined;
  },
  async directory(pid) {
    return link(`/proc/${pid}/cwd`);
  },
  async words(pid) {
    return words(`/proc/${pid}/cmdline`);
  },
  async connections(pids, ports) {
    return pids.flatMap((pid) => connectionsOf(pid, ports));
  },
};

/** Returns the start time of a process (clock ticks since boot). */
function ticks(pid: string): number | undefined {
  const stat = statOf(pid);
  return stat && Number(stat[19]);
}

/** Reads the fields of proc_pid_stat(5), beginning with the third field (the state). */
function statOf(pid: string): string[] | undefined {
  const stat = read(`/proc/${pid}/stat`, "latin1");
  // In "pid (name) state …", the name may contain parentheses.
  return stat === "" ? undefined : stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/**
 * Whether root of the parent user namespace has an id in this namespace.
 * @param map content of uid_map (user_namespaces(7)). Each line has the first id in this namespace, the first id in the
 * parent namespace, and a count
 */
function isRootKnown(map: string): boolean {
  return map.split("\n").some((line) => line.trim().split(/\s+/)[1] === "0");
}

/**
 * Parses the table of mounts.
 * @param text content of mountinfo, see proc_pid_mountinfo(5). A later mount at the same path hides an earlier one
 */
export function parseMountInfo(text: string): MountTable {
  const table = new Map<string, boolean>();
  for (const line of text.split("\n")) {
    const [before = "", after = ""] = line.split(" - ");
    const place = before.split(" ")[4];
    const [type = ""] = after.split(" ");
    if (place) table.set(place.replace(/\\(\d{3})/g, character), NETWORK.test(type));
  }
  return table;
}

/** Decodes one character of mountinfo: blanks, line breaks and backslashes are written as octal numbers. */
function character(_: string, octal: string): string {
  return String.fromCharCode(Number.parseInt(octal, 8));
}

function connectionsOf(pid: number, ports: readonly number[]): Connection[] {
  const sockets = new Map<string, Connection>();
  for (const family of ["tcp", "tcp6"]) {
    for (const line of read(`/proc/${pid}/net/${family}`).split("\n")) {
      const [, own = "", remote = "", state, , , , , , inode = ""] = line.trim().split(/\s+/);
      const connection = { own: portOf(own), remote: portOf(remote) };
      if (state === ESTABLISHED && ports.includes(connection.remote))
        sockets.set(`socket:[${inode}]`, connection);
    }
  }
  if (sockets.size === 0) return [];
  const names = attempt(() => readdirSync(`/proc/${pid}/fd`)) ?? [];
  return names.flatMap((name) => sockets.get(link(`/proc/${pid}/fd/${name}`) ?? "") ?? []);
}

/**
 * Parses the port of an address.
 * @param address hexadecimal address and port, such as `0100007F:A1B2`
 */
function portOf(address: string): number {
  return Number.parseInt(address.split(":")[1] ?? "", 16);
}

/**
 * Reads a file in /proc. Returns "" if the file cannot be read: a process may belong to another user, or end at any
 * moment.
 */
function read(path: string, encoding: BufferEncoding = "utf8"): string {
  return attempt(() => readFileSync(path, encoding)) ?? "";
}

function words(path: string): string[] {
  return read(path).split("\0").slice(0, -1);
}

function link(path: string): string | undefined {
  return attempt(() => readlinkSync(path));
}
