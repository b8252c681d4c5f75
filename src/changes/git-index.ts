/**
 * Parses Git's index without Git (gitformat-index(5), versions 2 to 4). The index stores the size and times of each
 * tracked file. A file with the same size and times is unchanged, and need not be read.
 */
import type { Stats } from "node:fs";
import { createYielder } from "../base/work-slices.ts";
import { CLOCK_TICK_MS } from "../system/file-state.ts";

export interface GitIndex {
  readonly entries: readonly IndexEntry[];
  /** Version of the index file, see src/system/file-version.ts. */
  readonly version: string;
}

export interface IndexEntry {
  /** Path relative to the work tree. */
  readonly name: string;
  /**
   * Name of the Git object with the file's content. The bytes on disk may differ, for example in their line endings.
   */
  readonly object: string;
  /** True for a regular file. False for a symbolic link or another repository. */
  readonly isRegular: boolean;
  readonly isRepository: boolean;
  /** Permission bits. Git stores only the executable bit. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Size of the file on disk, modulo 2^32 (bytes). */
  readonly size: number;
  /** The low 32 bits of the inode. */
  readonly inode: number;
  /** Returns whether the file still has the size, times and inode of the entry. */
  isSame(found: Stats): boolean;
}

const HEADER_BYTES = 12;
/** Size of an entry's fields before the object name: ten 32-bit numbers. */
const FIELDS_BYTES = 40;
const UINT32 = 2 ** 32;

/** Bits of a mode that encode the type of the file. */
const KIND = 0o170000;
const REGULAR = 0o100000;
const REPOSITORY = 0o160000;
/** Mode of an entry for a whole folder in a sparse index. The folder is not in the work tree. */
const FOLDER = 0o040000;

/**
 * Matches paths with an empty part, `.` or `..`. Git never writes such paths to its index. Such a path could lead out
 * of the work tree.
 */
const ODD_NAME = /(^|\/)\.{0,2}(\/|$)/;

/**
 * Parses an index. Yields to the event loop regularly.
 * @param bytes the whole file
 * @param writtenAt modification time of the index (Unix milliseconds). A file that was modified at about this
 * time always counts as changed, because another write within the same tick of the disk's clock would not be noticed
 * @param idLength length of an object name (bytes)
 * @returns undefined if the index is incomplete, or if a second file contains a part of the index
 */
export async function parseIndex(
  bytes: Buffer,
  writtenAt: number,
  idLength: number,
): Promise<IndexEntry[] | undefined> {
  function entryAt(start: number, name: string, isMerged: boolean): IndexEntry | undefined {
    const number = (place: number) => bytes.readUInt32BE(start + 4 * place);
    const mode = number(6);
    const kind = mode & KIND;
    // U+FFFD means that the name is not valid UTF-8. The decoded name could belong to another file.
    if (kind === FOLDER || name.includes("\uFFFD") || ODD_NAME.test(name)) return undefined;
    return {
      name,
      get object() {
        return bytes.toString("hex", start + FIELDS_BYTES, start + FIELDS_BYTES + idLength);
      },
      isRegular: kind === REGULAR,
      isRepository: kind === REPOSITORY,
      mode: mode & 0o777,
      uid: number(7),
      gid: number(8),
      size: number(9),
      inode: number(5),
      isSame: (found) =>
        isMerged &&
        isAt(number(2), number(3), found.mtimeMs) &&
        isAt(number(0), number(1), found.ctimeMs) &&
        number(9) === found.size % UINT32 &&
        (found.ino > Number.MAX_SAFE_INTEGER || number(5) === found.ino % UINT32) &&
        found.mtimeMs < writtenAt - CLOCK_TICK_MS &&
        found.ctimeMs < writtenAt - CLOCK_TICK_MS,
    };
  }

  try {
    if (bytes.toString("latin1", 0, 4) !== "DIRC") return undefined;
    const version = bytes.readUInt32BE(4);
    if (version < 2 || version > 4) return undefined;
    const entries: IndexEntry[] = [];
    let at = HEADER_BYTES;
    let name: Buffer = Buffer.alloc(0);
    const yieldIfDue = createYielder();
    for (let count = bytes.readUInt32BE(8); count > 0; count -= 1) {
      const pausing = yieldIfDue();
      if (pausing) await pausing;
      const start = at;
      const flags = bytes.readUInt16BE(start + FIELDS_BYTES + idLength);
      at += FIELDS_BYTES + idLength + (flags & 0x4000 ? 4 : 2);
      if (version === 4) {
        const prefix = varint(bytes, at);
        at = endOfName(bytes, prefix.next);
        name = Buffer.concat([name.subarray(0, name.length - prefix.value), bytes.subarray(prefix.next, at)]);
        at += 1;
      } else {
        const end = endOfName(bytes, at);
        name = bytes.subarray(at, end);
        at = start + ((end - start + 8) & ~7);
      }
      const entry = entryAt(start, name.toString(), !(flags & 0x3000));
      if (entry) entries.push(entry);
    }
    return isWhole(bytes, at, idLength) ? entries : undefined;
  } catch {
    return undefined; // the index is incomplete
  }
}

/**
 * Returns whether the index contains all entries. The extension "link" means that another file contains further
 * entries.
 */
function isWhole(bytes: Buffer, extensions: number, idLength: number): boolean {
  for (let at = extensions; at < bytes.length - idLength; at += 8 + bytes.readUInt32BE(at + 4))
    if (bytes.toString("latin1", at, at + 4) === "link") return false;
  return true;
}

/**
 * Returns the position of the zero byte that ends a name.
 * @throws {RangeError} if there is none. A position of -1 would make the parser start again at the beginning
 */
function endOfName(bytes: Buffer, at: number): number {
  const end = bytes.indexOf(0, at);
  if (end < 0) throw new RangeError("a name has no end");
  return end;
}

/** Reads a variable-length number in the encoding of offsets in Git's pack files. */
function varint(bytes: Buffer, at: number): { value: number; next: number } {
  let next = at;
  let byte = bytes.readUInt8(next++);
  let value = byte & 0x7f;
  while (byte & 0x80) {
    byte = bytes.readUInt8(next++);
    value = (value + 1) * 128 + (byte & 0x7f);
  }
  return { value, next };
}

/**
 * Returns whether two times are equal. Ignores fractions of a second if the index has none, because some programs write
 * only whole seconds.
 * @param foundMs Unix milliseconds
 */
function isAt(seconds: number, nanoseconds: number, foundMs: number): boolean {
  return nanoseconds === 0
    ? Math.floor(foundMs / 1_000) === seconds
    : Math.abs(foundMs - (seconds * 1_000 + nanoseconds / 1_000_000)) < 0.001;
}
