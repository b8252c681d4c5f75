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
 * @param networks the mount points of the network drives of this machine
 */
export function networksNow(networks = readNetworks()): (path: string) => string | undefined {
  if (networks.size === 0) return () => undefined;
  const links = new Map<string, string | undefined>();

  function linkAt(path: string): string | undefined {
    if (!links.has(path)) links.set(path, readLink(path));
    return links.get(path);
  }

  /**
   * Returns the network drive that contains a path. If one drive is mounted inside another, returns the inner drive.
   */
  function innermost(path: string): string | undefined {
    const around = [...networks].filter((place) => place === "/" || `${path}/`.startsWith(`${place}/`));
    return around.sort((a, b) => b.length - a.length)[0];
  }

  return (path) => {
    if (networks.has("/")) return innermost(path);
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
      if (networks.has(next)) return innermost([next, ...rest].join("/"));
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

/** Returns the mount points of network drives. */
export function networksIn(table: MountTable): ReadonlySet<string> {
  return new Set([...table].filter(([, isNetwork]) => isNetwork).map(([place]) => place));
}

let known: { networks: ReadonlySet<string>; at: number } | undefined;

function readNetworks(): ReadonlySet<string> {
  const now = performance.now();
  if (!known || now - known.at > CACHE_TIME_MS) known = { networks: networksIn(platform.mounts()), at: now };
  return known.networks;
}
