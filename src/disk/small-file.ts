/** Reads a file that may be anything: a pipe that nobody writes to, a device without an end, or too much of it. */
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { open } from "node:fs/promises";

/** Longer ones are refused (bytes). */
export const MAX_SMALL = 100_000;

/** A pipe is opened without waiting for its other end, and a terminal does not become this process's own. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** With a code as the system's errors have one. */
class UnfitFile extends Error {
  constructor(readonly code: "EFBIG" | "ENOTREG") {
    super(code);
  }
}

/** What is there may be another file than the one that was looked at before. */
function check(found: Stats): void {
  if (!found.isFile()) throw new UnfitFile("ENOTREG");
}

/** @param length how much was read, of a buffer that is one byte longer than a file may be */
function whole(content: Buffer, length: number): Buffer {
  if (length > MAX_SMALL) throw new UnfitFile("EFBIG");
  return content.subarray(0, length);
}

/** @throws as node:fs does, and with the codes EFBIG and ENOTREG for what is too long or no regular file */
export function readSmallSync(path: string): Buffer {
  const file = openSync(path, FLAGS);
  try {
    check(fstatSync(file));
    const content = Buffer.alloc(MAX_SMALL + 1);
    let length = 0;
    for (let more = -1; more !== 0 && length < content.length; length += more)
      more = readSync(file, content, length, content.length - length, null);
    return whole(content, length);
  } finally {
    closeSync(file);
  }
}

/** The same by other threads. */
export async function readSmall(path: string): Promise<Buffer> {
  const file = await open(path, FLAGS);
  try {
    check(await file.stat());
    const content = Buffer.alloc(MAX_SMALL + 1);
    let length = 0;
    for (let more = -1; more !== 0 && length < content.length; length += more)
      more = (await file.read(content, length, content.length - length, null)).bytesRead;
    return whole(content, length);
  } finally {
    await file.close();
  }
}
