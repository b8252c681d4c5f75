/**
 * Git's index, read without Git (gitformat-index(5), versions 2 to 4): which bytes each file had, and what the system said
 * of the file then. As long as the system says the same, the file is as it was, and nobody need read it.
 */
import type { Stats } from "node:fs";
import { CLOCK_TICK_MS } from "../system/sighting.ts";

export interface GitIndex {
  readonly entries: readonly IndexEntry[];
  /** Of the file, see src/system/version.ts. */
  readonly version: string;
}

export interface IndexEntry {
  /** Relative to the work tree. */
  readonly name: string;
  /** Of the bytes as Git stores them. */
  readonly object: string;
  /** A link or another repository is none. */
  readonly isRegular: boolean;
  readonly isRepository: boolean;
  /** Permission bits, of which Git knows one. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Bytes on disk, modulo 2^32. */
  readonly size: number;
  /** The low 32 bits. */
  readonly inode: number;
  /** Whether what the system says of a file is what it said then. */
  isSame(found: Stats): boolean;
}

const HEADER = 12;
/** Before the object's name: ten numbers of 32 bits. */
const FACTS = 40;
const UINT32 = 2 ** 32;

/** The kind of a file in its mode. */
const KIND = 0o170000;
const REGULAR = 0o100000;
const REPOSITORY = 0o160000;
/** Of an index that holds a folder as one: nothing of it is in the work tree. */
const FOLDER = 0o040000;

/**
 * @param bytes the whole file
 * @param writtenAt when the file was written (Unix milliseconds): what was changed in that moment may look as before
 * @param idLength bytes of an object's name
 * @returns nothing for what cannot be read alone, or not as a whole
 */
export function parseIndex(bytes: Buffer, writtenAt: number, idLength: number): IndexEntry[] | undefined {
  try {
    if (bytes.toString("latin1", 0, 4) !== "DIRC") return undefined;
    const version = bytes.readUInt32BE(4);
    if (version < 2 || version > 4) return undefined;
    const entries: IndexEntry[] = [];
    let at = HEADER;
    let name: Buffer = Buffer.alloc(0);
    for (let count = bytes.readUInt32BE(8); count > 0; count -= 1) {
      const start = at;
      const flags = bytes.readUInt16BE(start + FACTS + idLength);
      at += FACTS + idLength + (flags & 0x4000 ? 4 : 2);
      if (version === 4) {
        const prefix = varint(bytes, at);
        at = bytes.indexOf(0, prefix.next);
        name = Buffer.concat([name.subarray(0, name.length - prefix.value), bytes.subarray(prefix.next, at)]);
        at += 1;
      } else {
        const end = bytes.indexOf(0, at);
        name = bytes.subarray(at, end);
        at = start + ((end - start + 8) & ~7);
      }
      const entry = entryAt(bytes, start, {
        name: name.toString(),
        idLength,
        writtenAt,
        isMerged: !(flags & 0x3000),
      });
      if (entry) entries.push(entry);
    }
    return isWhole(bytes, at, idLength) ? entries : undefined;
  } catch {
    return undefined; // it ends too early
  }
}

/** Where the index is in two files, the other one is missing. */
function isWhole(bytes: Buffer, extensions: number, idLength: number): boolean {
  for (let at = extensions; at < bytes.length - idLength; at += 8 + bytes.readUInt32BE(at + 4))
    if (bytes.toString("latin1", at, at + 4) === "link") return false;
  return true;
}

/** As in Git's packs: each byte but the last adds one. */
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

function entryAt(
  bytes: Buffer,
  start: number,
  {
    name,
    idLength,
    writtenAt,
    isMerged,
  }: { name: string; idLength: number; writtenAt: number; isMerged: boolean },
): IndexEntry | undefined {
  const number = (place: number) => bytes.readUInt32BE(start + 4 * place);
  const mode = number(6);
  const kind = mode & KIND;
  // By its bytes it is another name than by its characters.
  if (kind === FOLDER || name.includes("\uFFFD")) return undefined;
  const [changed, written] = [time(number(0), number(1)), time(number(2), number(3))];
  return {
    name,
    get object() {
      return bytes.toString("hex", start + FACTS, start + FACTS + idLength);
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
      isAt(written, found.mtimeMs) &&
      isAt(changed, found.ctimeMs) &&
      number(9) === found.size % UINT32 &&
      (found.ino > Number.MAX_SAFE_INTEGER || number(5) === found.ino % UINT32) &&
      found.mtimeMs < writtenAt - CLOCK_TICK_MS &&
      found.ctimeMs < writtenAt - CLOCK_TICK_MS,
  };
}

interface Time {
  readonly ms: number;
  /** Some programs write no more than whole seconds. */
  readonly isWhole: boolean;
}

function time(seconds: number, nanoseconds: number): Time {
  return { ms: seconds * 1_000 + nanoseconds / 1_000_000, isWhole: nanoseconds === 0 };
}

/** Of whole seconds the file may have been changed within. */
function isAt({ ms, isWhole }: Time, found: number): boolean {
  return isWhole ? Math.floor(found / 1_000) * 1_000 === ms : Math.abs(found - ms) < 0.001;
}
