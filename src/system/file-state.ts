/** Reads the state of a path at one moment: absent, known with its bytes, or unknown with a reason. */
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
import { open, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { disk } from "./disk.ts";
import { codeOf } from "./error-code.ts";
import { isVersionSeen, versionOf } from "./file-version.ts";
import { OPEN_FLAGS, placeOf } from "./open-file.ts";

/** Maximum size of a file whose content is kept (bytes). */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;

/** Maximum size of a file that is read synchronously (bytes). */
const MAX_SYNC_BYTES = 1024 * 1024;

/** Resolution of the clock for file times (ms). */
export const CLOCK_TICK_MS = 20;

/** Mode and owner of a file. */
export interface Metadata {
  /** Permission bits of the file. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/** Content of a file. `text` has one character for each byte of the file (latin1). */
type Content =
  | { readonly kind: "absent" }
  | { readonly kind: "known"; readonly text: string }
  /** `reason` tells why the bytes are unknown, as the end of a sentence. */
  | { readonly kind: "unknown"; readonly reason: string };

export type FileState = Content & {
  readonly metadata?: Metadata | undefined;
  /** Version of the file. Stays the same while the file does not change. */
  readonly version: string;
  /** Time of the file's last change (Unix milliseconds). */
  readonly since?: number | undefined;
};

/** Version of a file whose folder cannot be read. Nothing is known about the file then. */
export const HIDDEN = "EACCES";

export const ABSENT: FileState = { kind: "absent", version: "ENOENT" };

/** Whether a system error means that the file does not exist. */
export function isAbsent(code: string): boolean {
  return code === "ENOENT" || code === "ENOTDIR";
}

export const TOO_LONG = "the file is too long";
export const HIDDEN_FOLDER = "its folder cannot be read";
export const NOT_REGULAR = "it is not a regular file that can be read";
const UNSTABLE = "it was being written while it was read";

export function unknown(reason: string, version = "unknown"): FileState {
  return { kind: "unknown", reason, version };
}

/**
 * Time without changes after which a write counts as complete (ms). Many programs first truncate a file, and write its
 * content a moment later.
 */
const STABLE_AFTER_MS = 30;
const MAX_WAITS = 10;

/** Number of times that a file is opened if it is replaced between the opening and the look at its real path. */
const MAX_TRIES = 3;

/** Flags for opening a file of which the callers have already resolved all links. Refuses symbolic links. */
export const READ_FLAGS = OPEN_FLAGS | constants.O_NOFOLLOW;

/**
 * Resolves the symbolic links of a path. The file need not exist.
 * @param path absolute path
 */
export async function realPath(path: string): Promise<string> {
  const missing: string[] = [];
  for (let head = path; ; head = dirname(head)) {
    const found = await disk.realpath(head).catch(() => undefined);
    if (found !== undefined) return join(found, ...missing);
    if (dirname(head) === head) return path;
    missing.unshift(basename(head));
  }
}

/** Whether a symbolic link has replaced a folder of a real path. The path then leads to a different file. */
export async function isBelowLink(path: string): Promise<boolean> {
  return (await realPath(dirname(path))) !== dirname(path);
}

/**
 * Reads the state of a path. Reads a small local file synchronously, so that the host cannot let an agent continue
 * during the read. If a folder of the path has become a symbolic link, the file counts as absent. If the file is
 * replaced again and again while it is opened, its content is unknown.
 * @param path a {@link realPath}
 * @param maxBytes maximum size of the file. The content of a longer file is unknown
 */
export async function readState(path: string, maxBytes = MAX_FILE_BYTES): Promise<FileState> {
  return (
    (disk.moment().isOnNetwork(path) ? undefined : readStateSync(path, maxBytes)) ??
    disk.run(path, () => readStateAsync(path, maxBytes))
  );
}

/** Reads the state synchronously. @returns undefined for a file that is too large for this */
function readStateSync(path: string, maxBytes: number, tries = MAX_TRIES): FileState | undefined {
  try {
    if (realpathSync.native(dirname(path)) !== dirname(path)) return ABSENT;
    const file = openSync(path, READ_FLAGS);
    try {
      const found = fstatSync(file);
      if (placeOf(file, path) !== path)
        return tries > 1 ? readStateSync(path, maxBytes, tries - 1) : unknown(UNSTABLE);
      const skipped = unread(found, maxBytes);
      if (skipped || found.size > MAX_SYNC_BYTES) return skipped;
      return readFrom(readFileSync(file), found, fstatSync(file), maxBytes);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return unreadable(path, codeOf(error));
  }
}

async function readStateAsync(path: string, maxBytes: number, tries = MAX_TRIES): Promise<FileState> {
  if (await isBelowLink(path)) return ABSENT;
  try {
    const file = await open(path, READ_FLAGS);
    try {
      const found = await file.stat();
      if (placeOf(file.fd, path) !== path)
        return tries > 1 ? readStateAsync(path, maxBytes, tries - 1) : unknown(UNSTABLE);
      const skipped = unread(found, maxBytes);
      return skipped ?? readFrom(await file.readFile(), found, await file.stat(), maxBytes);
    } finally {
      await file.close();
    }
  } catch (error) {
    return unreadable(path, codeOf(error));
  }
}

/** Returns the state of a path that cannot be opened, such as the path of a symbolic link. */
function unreadable(path: string, code: string): FileState {
  if (isAbsent(code)) return ABSENT;
  try {
    return unknown(NOT_REGULAR, versionOf(lstatSync(path)));
  } catch {
    return unknown(code === HIDDEN ? HIDDEN_FOLDER : NOT_REGULAR, code);
  }
}

function unread(found: Stats, maxBytes: number): FileState | undefined {
  if (!found.isFile()) return { ...unknown(NOT_REGULAR, versionOf(found)), since: found.ctimeMs };
  return found.size > maxBytes ? { ...unknown(TOO_LONG), ...factsOf(found) } : undefined;
}

/**
 * Returns the state of a file that was read.
 * @param found result of `stat` before the read
 * @param after result of `stat` after the read
 */
function readFrom(bytes: Buffer, found: Stats, after: Stats, maxBytes: number): FileState {
  const facts = factsOf(after);
  if (bytes.length > maxBytes) return { ...unknown(TOO_LONG), ...facts };
  if (facts.version !== versionOf(found)) return { ...unknown(UNSTABLE), ...facts };
  return { kind: "known", text: bytes.toString("latin1"), ...facts };
}

/**
 * Reads the state of a path. If another program may be writing the file, waits until the file stays unchanged. Waits
 * longer for an empty file: it may just have been truncated, and some file systems do not update the file's time when
 * it is truncated.
 * @param path a {@link realPath}
 */
export async function readStableState(path: string): Promise<FileState> {
  const start = Date.now();
  for (let waits = 0; ; waits += 1) {
    const found = await readState(path);
    if (found.version === HIDDEN) return found;
    const age = Date.now() - (found.since ?? start);
    const isEmpty = found.kind === "known" && found.text === "";
    // If the age is -1 ms or less, the time comes from another machine whose clock is ahead, and the file counts as
    // unchanged. An age between -1 and 0 ms is a rounding error: file times have fractions of a millisecond, and
    // Date.now() has none.
    const isStill = !isEmpty && (age >= STABLE_AFTER_MS || age <= -1);
    if (isStill || waits === MAX_WAITS) return found;
    await delay(isEmpty ? STABLE_AFTER_MS : STABLE_AFTER_MS - age);
  }
}

/**
 * Like `readState`, but only for the text that Neovim has seen.
 * @param version version of the file in Neovim, see {@link isVersionSeen}
 * @returns undefined if the file has changed since
 */
export async function readSeen(path: string, version: string): Promise<FileState | undefined> {
  const now = await readState(path);
  const found = await disk.run(path, () => stat(path, { bigint: true })).catch(() => undefined);
  return isVersionSeen(version, found) ? now : undefined;
}

/** Reads the {@link FileState.version} of a path. Does not follow links. Never rejects. */
export async function versionAt(path: string): Promise<string> {
  if (await isBelowLink(path)) return ABSENT.version;
  return disk.lstat(path).then(versionOf, (error: unknown) => {
    const code = codeOf(error);
    return isAbsent(code) ? ABSENT.version : code;
  });
}

export function metadataOf({ mode, uid, gid }: Pick<Stats, "mode" | "uid" | "gid">): Metadata {
  return { mode: mode & 0o7777, uid, gid };
}

/** Returns the low 32 bits of a file's inode. They stay the same when the file is renamed. */
export function inodeOf(found: Pick<Stats, "ino"> | FileState): number {
  const inode = "ino" in found ? found.ino : Number.parseInt(found.version, 10);
  return inode % 2 ** 32;
}

/** Returns the version, metadata and modification time of a file. */
export function factsOf(found: Stats): Pick<FileState, "version" | "metadata" | "since"> {
  return { version: versionOf(found), metadata: metadataOf(found), since: found.ctimeMs };
}
