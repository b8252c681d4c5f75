/**
 * Recognizes paths on network drives by the table of mounts. Does not access the drives, because a drive may never
 * answer.
 */
import { lstatSync, readlinkSync } from "node:fs";
import { dirname } from "node:path";
import { attempt } from "../base/attempt.ts";
import { platform } from "./platform.ts";
import type { MountTable } from "./system.ts";

/** Time for which the table of mounts is cached (ms). */
const CACHE_TIME_MS = 5_000;

/** Maximum number of symbolic links in a path, as in Linux. */
const MAX_LINKS = 40;

/**
 * Returns a function that finds the network drive of an absolute path, according to the mounts at this moment. The
 * function follows the symbolic links of the path without reading a network drive, and reads each link only once. It
 * returns the mount point of the network drive that contains the path or one of its links; undefined for a local path.
 * @param table the mounts of this machine
 */
export function networksNow(table: MountTable = readTable()): (path: string) => string | undefined {
  const networks = [...table].filter(([, isNetwork]) => isNetwork).map(([place]) => place);
  const links = new Map<string, string | undefined>();

  function linkAt(path: string): string | undefined {
    if (!links.has(path)) links.set(path, readLink(path));
    return links.get(path);
  }

  /**
   * Returns the network drive that contains a path. If one drive is mounted inside another, returns the inner drive.
   */
  function innermost(path: string): string | undefined {
    const around = networks.filter((place) => place === "/" || `${path}/`.startsWith(`${place}/`));
    return around.sort((a, b) => b.length - a.length)[0];
  }

  return (path) => {
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
  };
}

/** Returns the target of a symbolic link. A path with too many links counts as missing. */
function readLink(path: string): string | undefined {
  return attempt(() =>
    lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : undefined,
  );
}

let known: { table: MountTable; at: number } | undefined;

function readTable(): MountTable {
  const now = performance.now();
  if (!known || now - known.at > CACHE_TIME_MS) known = { table: platform.mounts(), at: now };
  return known.table;
}
