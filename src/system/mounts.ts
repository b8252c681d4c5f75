/** Which paths lie on a network: whoever asks the disk for one of them waits for another machine, perhaps for ever. */
import { lstatSync, readlinkSync } from "node:fs";
import { dirname } from "node:path";
import { here } from "./here.ts";
import type { MountTable } from "./system.ts";

/** A table that was read is right for so long (milliseconds). */
const FRESH = 5_000;

/** As many links as Linux follows. */
const MAX_LINKS = 40;

export interface Mounts {
  /**
   * Follows a path without asking any network.
   * @param path absolute
   * @returns where the network file system is mounted that it leads to; nothing when there is none on the way
   */
  networkOf(path: string): string | undefined;
}

/**
 * The mounts of one moment: the links that were followed for one path are not read again for the next.
 * @param table of this machine
 */
export function mountsNow(table: MountTable = readTable()): Mounts {
  const networks = [...table].filter(([, isNetwork]) => isNetwork).map(([place]) => place);
  const links = new Map<string, string | undefined>();

  function linkAt(path: string): string | undefined {
    if (!links.has(path)) links.set(path, readLink(path));
    return links.get(path);
  }

  /** The innermost one: one machine's silence is not another's. */
  function innermost(path: string): string | undefined {
    const around = networks.filter((place) => place === "/" || `${path}/`.startsWith(`${place}/`));
    return around.sort((a, b) => b.length - a.length)[0];
  }

  return {
    networkOf(path) {
      if (networks.length === 0) return undefined;
      if (table.get("/")) return innermost(path);
      const rest = path.split("/");
      let resolved = "";
      for (let followed = 0; followed <= MAX_LINKS; ) {
        const name = rest.shift();
        if (name === undefined) return undefined;
        if (name === "" || name === ".") continue;
        if (name === "..") {
          resolved = dirname(resolved || "/").replace(/^\/$/, "");
          continue;
        }
        const next = `${resolved}/${name}`;
        if (table.get(next)) return innermost([next, ...rest].join("/"));
        const target = linkAt(next);
        if (target === undefined) {
          resolved = next;
          continue;
        }
        followed += 1;
        if (target.startsWith("/")) resolved = "";
        rest.unshift(...target.split("/"));
      }
      return undefined;
    },
  };
}

function readLink(path: string): string | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    return undefined; // nobody gets any further than this
  }
}

let known: { table: MountTable; at: number } | undefined;

function readTable(): MountTable {
  const now = performance.now();
  if (!known || now - known.at > FRESH) known = { table: here.mounts(), at: now };
  return known.table;
}
