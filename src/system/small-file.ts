/**
 * Reads small regular files. Refuses pipes, devices and large files, because reading them could block or fill the
 * memory.
 */
import { closeSync, fstatSync, openSync, promises, readSync, type Stats } from "node:fs";
import type * as z from "zod";
import { attempt } from "../base/attempt.ts";
import { Refusal } from "../base/refusal.ts";
import { codeOf } from "./error-code.ts";
import { OPEN_FLAGS } from "./open-file.ts";

/** Maximum size for {@link readSmallSync} (bytes). */
export const MAX_SMALL = 100_000;

/** Maximum size of settings and discovery files (bytes). */
const MAX_FILE_BYTES = 1_000_000;

/** An error with an error code, like a system error. */
class UnfitFile extends Error {
  constructor(readonly code: "EFBIG" | "ENOTREG") {
    super(code);
  }
}

/** Refuses everything except a regular file. Checks the open file, because the path may by now lead to another file. */
function check(found: Stats): Stats {
  if (!found.isFile()) throw new UnfitFile("ENOTREG");
  return found;
}

/**
 * Returns the bytes that were read.
 * @param content buffer with one byte more than the maximum size. If the file fills the buffer, it is refused as too
 * large
 */
function whole(content: Buffer, length: number): Buffer {
  if (length === content.length) throw new UnfitFile("EFBIG");
  return content.subarray(0, length);
}

/** Reads a file of at most `max` bytes. @throws the same errors as {@link readSmallSync} */
export function readUpToSync(path: string, max: number): { content: Buffer; found: Stats } {
  const file = openSync(path, OPEN_FLAGS);
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

/**
 * Reads a file of at most MAX_SMALL bytes.
 * @throws the errors of node:fs. The code is EFBIG for a larger file, and ENOTREG for everything except a regular file
 */
export function readSmallSync(path: string): Buffer {
  return readUpToSync(path, MAX_SMALL).content;
}

/** Does the same as {@link readSmallSync}, in a thread. */
export async function readSmall(path: string): Promise<Buffer> {
  const file = await promises.open(path, OPEN_FLAGS);
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
  /** User id of the file's owner. */
  readonly uid: number;
  /** Permission bits of the file. */
  readonly mode: number;
  /** Time of the last write to the file (Unix milliseconds). */
  readonly date: number;
}

const REASONS: Record<string, string> = {
  ENOTREG: "is not a regular file",
  EFBIG: `is longer than ${MAX_FILE_BYTES} bytes`,
};

/**
 * Reads a file that other users or programs may have written.
 * @returns undefined if the file does not exist
 * @throws {Refusal} with the reason, as the end of a sentence that begins with the path
 */
export function readSmallFile(path: string): SmallFile | undefined {
  try {
    const { content, found } = readUpToSync(path, MAX_FILE_BYTES);
    const { uid, mode, mtimeMs: date } = found;
    return { text: content.toString(), uid, mode: mode & 0o777, date };
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new Refusal(REASONS[code] ?? `cannot be read (${code})`, { cause: error });
  }
}

/** Reads a small JSON file. @returns undefined if the file is missing, cannot be read, or does not match the shape */
export function readJson<T>(path: string, shape: z.ZodType<T>): T | undefined {
  return attempt(() => shape.parse(JSON.parse(readSmallFile(path)?.text ?? "")));
}
