/** The directory of the discovery files, which a token may be put into. */
import { chmodSync, lstatSync, mkdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { Refusal } from "../refusal.ts";
import { DISCOVERY_DIRECTORY } from "./wire.ts";

/** A place that cannot be trusted with a token, or not be written; the message tells the user what to do. */
export class DiscoveryError extends Refusal {
  override readonly name = "DiscoveryError";
}

const GROUP_MAY_WRITE = 0o020;
const OTHERS_MAY_WRITE = 0o002;
/** In such a directory only their owner, and that of the directory, may rename or remove files. */
const STICKY = 0o1000;

/** Where every editor's discovery files are. */
export function discoveryDirectory(): string {
  return join(tmpdir(), ...DISCOVERY_DIRECTORY);
}

/**
 * Makes `<tmpdir>/gemini/ide`, private to the user, and refuses one in which others could act.
 * @throws {DiscoveryError}
 */
export function prepareDirectory(): void {
  let directory = tmpdir();
  const uid = process.getuid?.();
  checkParent(directory, uid);
  for (const name of DISCOVERY_DIRECTORY) {
    directory = join(directory, name);
    try {
      mkdirSync(directory, { mode: 0o700 });
    } catch (error) {
      if (codeOf(error) !== "EEXIST") {
        const advice = "set TMPDIR to a directory that you can write to";
        throw new DiscoveryError(`cannot make ${directory} (${codeOf(error)}); ${advice}`, { cause: error });
      }
    }
    const found = lstatSync(directory); // of a symbolic link itself: where it leads is somebody else's choice
    if (found.isSymbolicLink())
      throw new DiscoveryError(
        `${directory} is a symbolic link; remove it, or set TMPDIR to another directory`,
      );
    if (!found.isDirectory())
      throw new DiscoveryError(`${directory} is no directory; remove it, or set TMPDIR to another directory`);
    if (uid !== undefined && found.uid !== uid) throw belongsToAnother(directory);
    if (uid !== undefined && (found.mode & (GROUP_MAY_WRITE | OTHERS_MAY_WRITE)) !== 0)
      chmodSync(directory, 0o700);
  }
}

/** Refuses a temporary directory in which another user could put a directory of theirs in the place of ours. */
function checkParent(directory: string, uid: number | undefined): void {
  if (!isAbsolute(directory)) throw new DiscoveryError(`TMPDIR is ${directory}; it must be an absolute path`);
  const found = statSync(directory, { throwIfNoEntry: false });
  if (!found?.isDirectory())
    throw new DiscoveryError(`the temporary directory ${directory} does not exist; make it, or set TMPDIR`);
  if (uid === undefined) return;
  const elsewhere = "or set TMPDIR to a directory of your own";
  if ((found.mode & STICKY) === 0) {
    if ((found.mode & OTHERS_MAY_WRITE) !== 0)
      throw new DiscoveryError(
        `anyone may rename what is in ${directory}; set its sticky bit (chmod +t), ${elsewhere}`,
      );
    if ((found.mode & GROUP_MAY_WRITE) !== 0)
      throw new DiscoveryError(
        `its group may rename what is in ${directory}; keep it from that (chmod g-w), ${elsewhere}`,
      );
  }
  if (found.uid !== uid && found.uid !== 0 && !mayBeRoots(found)) throw belongsToAnother(directory);
}

/**
 * In a rootless container all users that it does not know look like one, the overflow user. The machine's temporary
 * directory is root's, and so looks like that when root is not known.
 */
function mayBeRoots({ uid, mode }: Stats): boolean {
  if ((mode & STICKY) === 0) return false;
  try {
    const overflow = Number(readFileSync("/proc/sys/kernel/overflowuid", "utf8"));
    return uid === overflow && !isRootKnown(readFileSync("/proc/self/uid_map", "utf8"));
  } catch {
    return false; // no Linux
  }
}

/** @param map lines of: first user here, first user in the parent namespace, how many (user_namespaces(7)) */
function isRootKnown(map: string): boolean {
  return map.split("\n").some((line) => line.trim().split(/\s+/)[1] === "0");
}

function belongsToAnother(directory: string): DiscoveryError {
  return new DiscoveryError(`${directory} belongs to another user; set TMPDIR to a directory of your own`);
}

/** The system's name for what went wrong, such as `ENOSPC`. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
