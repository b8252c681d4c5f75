/**
 * Reads files that another program may replace at any moment, for example by a pipe or by a link to another file. A
 * file is opened only once. All decisions are about the open file, not about its path.
 */
import { constants, fstatSync, lstatSync, readlinkSync, realpathSync, type Stats } from "node:fs";
import { open } from "node:fs/promises";
import { attempt } from "../base/attempt.ts";
import { Refusal } from "../base/refusal.ts";

/**
 * Flags for opening a file. A pipe is opened without waiting for its writer, and a terminal does not become the
 * controlling terminal of this process.
 */
export const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * Returns the real path of an open file. Linux knows this path. On other systems, resolves the path again, and compares
 * the file there with the open file.
 * @param file file descriptor
 * @param path the path with which the file was opened
 * @returns undefined if another file is there now. On Linux, a path where no file is
 */
export function placeOf(file: number, path: string): string | undefined {
  const known = attempt(() => readlinkSync(`/proc/self/fd/${file}`));
  if (known !== undefined) return known;
  return attempt(() => {
    const real = realpathSync.native(path);
    const [own, there] = [fstatSync(file), lstatSync(real)];
    return own.dev === there.dev && own.ino === there.ino ? real : undefined;
  });
}

/**
 * Reads a regular file.
 * @param check called with the real path of the open file before its bytes are read. Throws if the file must not be
 * read
 * @throws {Refusal} if the file is not a regular file, or was replaced meanwhile. Also throws system errors
 */
export async function readOpenFile(
  path: string,
  check: (place: string, found: Stats) => void | Promise<void>,
): Promise<{ bytes: Buffer; found: Stats }> {
  const file = await open(path, OPEN_FLAGS);
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new Refusal(`${path} is not a regular file`);
    const place = placeOf(file.fd, path);
    if (place === undefined) throw new Refusal(`${path} was replaced while it was read: try again`);
    await check(place, found);
    return { bytes: await file.readFile(), found };
  } finally {
    await file.close();
  }
}
