/** Files that others may have made, read without a risk: whole, bounded, and never waited for. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { Refusal } from "../refusal.ts";

/** More than any settings, policy or discovery file holds (bytes). */
const MAX_SIZE = 1_000_000;

export interface SmallFile {
  readonly text: string;
  /** Of the owner. */
  readonly uid: number;
  /** Permission bits. */
  readonly mode: number;
  /** When it was written, Unix milliseconds. */
  readonly date: number;
}

/**
 * Reads a regular file. A pipe in its place would block for ever, a device fill the memory.
 * @returns nothing when there is no such file
 * @throws {Refusal} which says why it cannot be read, as the end of a sentence that begins with its path
 */
export function readSmallFile(path: string): SmallFile | undefined {
  const descriptor = open(path);
  if (descriptor === undefined) return undefined;
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile()) throw new Refusal("is no regular file");
    if (found.size > MAX_SIZE) throw new Refusal(`is longer than ${MAX_SIZE} bytes`);
    const bytes = Buffer.alloc(found.size);
    const length = readSync(descriptor, bytes, 0, found.size, 0);
    const { uid, mode, mtimeMs: date } = found;
    return { text: bytes.toString("utf8", 0, length), uid, mode: mode & 0o777, date };
  } finally {
    closeSync(descriptor);
  }
}

function open(path: string): number | undefined {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new Refusal(`cannot be read (${code})`, { cause: error });
  }
}
