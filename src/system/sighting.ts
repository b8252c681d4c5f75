/** What a path holds at one moment: nothing, exact bytes, or something that is not known. */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  realpathSync,
  type Stats,
} from "node:fs";
import { lstat, open, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { disk } from "./disk.ts";
import { codeOf } from "./error-code.ts";
import { versionOf } from "./version.ts";

/** The bytes of a longer file are not read. */
export const MAX_FILE = 8 * 1024 * 1024;

/** Other threads read a longer file, so that the host is there for others (bytes). */
const MAX_AT_ONCE = 1024 * 1024;

/** The clock by which files get their times may be this much behind (ms). */
export const CLOCK_TICK_MS = 20;

/** What a file has beside its bytes. */
export interface Metadata {
  /** Permission bits. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/** `text` has one character for each byte of the file (latin1). */
export type Content =
  | { readonly kind: "absent" }
  | { readonly kind: "known"; readonly text: string }
  /** There is something, and the end of a sentence says why its bytes are not known. */
  | { readonly kind: "unknown"; readonly reason: string };

export type Sighting = Content & {
  readonly metadata?: Metadata | undefined;
  /** As long as it is the same, so is the file. */
  readonly version: string;
  /** When that began (Unix milliseconds). */
  readonly since?: number | undefined;
};

export const ABSENT: Sighting = { kind: "absent", version: "ENOENT" };

/** Whether an error of the system's says that there is nothing. */
export function isAbsent(code: string): boolean {
  return code === "ENOENT" || code === "ENOTDIR";
}

export const TOO_LONG = "the file is too long";
export const NOT_REGULAR = "it is no regular file that can be read";

export function unknown(reason: string, version = "unknown"): Sighting {
  return { kind: "unknown", reason, version };
}

/** Whoever writes a file empties it before, or takes it away: it must be as it is for so long (ms). */
const STILL_MS = 30;
const MAX_WAITS = 10;

/** A FIFO is not waited for, a link not followed: the path is a real one. */
export const READ_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/**
 * The path without links, also of what is not there (yet).
 * @param path absolute
 */
export async function realPath(path: string): Promise<string> {
  const isLocal = !disk.moment().isOnNetwork(path);
  const missing: string[] = [];
  for (let head = path; ; head = dirname(head)) {
    const found = isLocal ? realNow(head) : await disk.run(head, () => realpath(head)).catch(() => undefined);
    if (found !== undefined) return join(found, ...missing);
    if (dirname(head) === head) return path;
    missing.unshift(basename(head));
  }
}

function realNow(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

/**
 * Sees what is at a path: in the tick in which it is asked, if it is local and short, as an agent may go on meanwhile.
 * @param path a {@link realPath}
 */
export async function see(path: string): Promise<Sighting> {
  return (disk.moment().isOnNetwork(path) ? undefined : seeNow(path)) ?? disk.run(path, () => seeLater(path));
}

/** @returns nothing for what takes too long */
function seeNow(path: string): Sighting | undefined {
  try {
    const file = openSync(path, READ_FLAGS);
    try {
      const found = fstatSync(file);
      return unread(found) ?? (found.size > MAX_AT_ONCE ? undefined : knownOf(readFileSync(file), found));
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return unreadable(path, codeOf(error));
  }
}

async function seeLater(path: string): Promise<Sighting> {
  try {
    const file = await open(path, READ_FLAGS);
    try {
      const found = await file.stat();
      return unread(found) ?? knownOf(await file.readFile(), found);
    } finally {
      await file.close();
    }
  } catch (error) {
    return unreadable(path, codeOf(error));
  }
}

/** Of what cannot be opened the path itself may tell its version, such as of a link. */
function unreadable(path: string, code: string): Sighting {
  if (isAbsent(code)) return ABSENT;
  try {
    return unknown(NOT_REGULAR, versionOf(lstatSync(path)));
  } catch {
    return unknown(NOT_REGULAR, code);
  }
}

function unread(found: Stats): Sighting | undefined {
  if (!found.isFile()) return { ...unknown(NOT_REGULAR, versionOf(found)), since: found.ctimeMs };
  return found.size > MAX_FILE ? { ...unknown(TOO_LONG), ...factsOf(found) } : undefined;
}

function knownOf(bytes: Buffer, found: Stats): Sighting {
  if (bytes.length > MAX_FILE) return { ...unknown(TOO_LONG), ...factsOf(found) };
  return { kind: "known", text: bytes.toString("latin1"), ...factsOf(found) };
}

/**
 * Sees what somebody may be about to write, when they have written it.
 * @param path a {@link realPath}
 */
export async function seeStill(path: string): Promise<Sighting> {
  const start = Date.now();
  for (let waits = 0; ; waits += 1) {
    const found = await see(path);
    const age = Date.now() - (found.since ?? start);
    // A clock that is ahead is that of another machine.
    if (age >= STILL_MS || age < 0 || waits === MAX_WAITS) return found;
    await delay(STILL_MS - age);
  }
}

/** The {@link Sighting.version} of what is at a path, links not followed. Never rejects. */
export async function versionAt(path: string): Promise<string> {
  try {
    const found = disk.moment().isOnNetwork(path)
      ? await disk.run(path, () => lstat(path))
      : lstatSync(path, { throwIfNoEntry: false });
    return found ? versionOf(found) : ABSENT.version;
  } catch (error) {
    return codeOf(error);
  }
}

export function metadataOf({ mode, uid, gid }: Pick<Stats, "mode" | "uid" | "gid">): Metadata {
  return { mode: mode & 0o7777, uid, gid };
}

/** The low 32 bits of a file's number, which it keeps when it gets another name. */
export function inodeOf(found: Pick<Stats, "ino"> | Sighting): number {
  const inode = "ino" in found ? found.ino : Number.parseInt(found.version, 10);
  return inode % 2 ** 32;
}

/** What is known of a file without its bytes. */
export function factsOf(found: Stats): Pick<Sighting, "version" | "metadata" | "since"> {
  return { version: versionOf(found), metadata: metadataOf(found), since: found.ctimeMs };
}
