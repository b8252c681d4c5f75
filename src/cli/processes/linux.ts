/** What Linux tells about a process, in /proc. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import type { Connection, Inspector } from "./inspector.ts";

/** The state of an established connection in /proc/net. */
const ESTABLISHED = "01";

export const linux: Inspector = {
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
  const open = list(`/proc/${pid}/fd`).map((name) => link(`/proc/${pid}/fd/${name}`) ?? "");
  return open.flatMap((target) => sockets.get(target) ?? []);
}

/** @param address `0100007F:A1B2`, both parts hexadecimal */
function portOf(address: string): number {
  return Number.parseInt(address.split(":")[1] ?? "", 16);
}

/** The process may be somebody else's, or end at any moment: what cannot be read is empty. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function words(path: string): string[] {
  return read(path).split("\0").slice(0, -1);
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function link(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
