/** Reads a file that may be anything: a pipe that nobody writes to, a device without an end, or too much of it. */
import { closeSync, constants, fstatSync, openSync, promises, readSync, type Stats } from "node:fs";
import { Refusal } from "../base/refusal.ts";
import { codeOf } from "./error-code.ts";

/** Longer ones are refused (bytes). */
export const MAX_SMALL = 100_000;

/** More than any settings, policy or discovery file holds (bytes). */
const MAX_FILE = 1_000_000;

/** A pipe is opened without waiting for its other end, and a terminal does not become this process's own. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** With a code as the system's errors have one. */
class UnfitFile extends Error {
  constructor(readonly code: "EFBIG" | "ENOTREG") {
    super(code);
  }
}

/** What is there may be another file than the one that was looked at before. */
function check(found: Stats): Stats {
  if (!found.isFile()) throw new UnfitFile("ENOTREG");
  return found;
}

/** @param length how much was read, of a buffer that is one byte longer than a file may be */
function whole(content: Buffer, length: number): Buffer {
  if (length === content.length) throw new UnfitFile("EFBIG");
  return content.subarray(0, length);
}

/** @throws as {@link readSmallSync} does */
export function readUpToSync(path: string, max: number): { content: Buffer; found: Stats } {
  const file = openSync(path, FLAGS);
  try {
    const found = check(fstatSync(file));
    const content = Buffer.allocUnsafe(max + 1);
    let length = 0;
    for (let more = -1; more !== 0 && length < content.length; length += more)
      more = readSync(file, content, length, content.length - length, null);
    return { content: whole(content, length), found };
  } finally {
    closeSync(file);
  }
}

/** @throws as node:fs does, and with the codes EFBIG and ENOTREG for what is too long or no regular file */
export function readSmallSync(path: string): Buffer {
  return readUpToSync(path, MAX_SMALL).content;
}

/** The same by other threads. */
export async function readSmall(path: string): Promise<Buffer> {
  const file = await promises.open(path, FLAGS);
  try {
    check(await file.stat());
    const content = Buffer.allocUnsafe(MAX_SMALL + 1);
    let length = 0;
    for (let more = -1; more !== 0 && length < content.length; length += more)
      more = (await file.read(content, length, content.length - length, null)).bytesRead;
    return whole(content, length);
  } finally {
    await file.close();
  }
}

export interface SmallFile {
  readonly text: string;
  /** Of the owner. */
  readonly uid: number;
  /** Permission bits. */
  readonly mode: number;
  /** When it was written, Unix milliseconds. */
  readonly date: number;
}

const REASONS: Record<string, string> = {
  ENOTREG: "is no regular file",
  EFBIG: `is longer than ${MAX_FILE} bytes`,
};

/**
 * Reads a file that others may have made.
 * @returns nothing when there is no such file
 * @throws {Refusal} which says why it cannot be read, as the end of a sentence that begins with its path
 */
export function readSmallFile(path: string): SmallFile | undefined {
  try {
    const { content, found } = readUpToSync(path, MAX_FILE);
    const { uid, mode, mtimeMs: date } = found;
    return { text: content.toString(), uid, mode: mode & 0o777, date };
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new Refusal(REASONS[code] ?? `cannot be read (${code})`, { cause: error });
  }
}
