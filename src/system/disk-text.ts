/** What a file on disk holds, as short as a hash: texts may be long, and there may be many. */
import { createHash } from "node:crypto";
import { constants, statSync } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { disk } from "./disk.ts";
import { codeOf } from "./error-code.ts";
import { MAX_SMALL, readUpToSync } from "./small-file.ts";
import { versionOf } from "./version.ts";

/** Of a longer file size and date have to do (bytes). */
const MAX_SIZE = 64 * 1024 * 1024;

const CHUNK = 1024 * 1024;

export interface DiskText {
  /** Alike for the same bytes; of what is no file to read it says so. */
  readonly hash: string;
  /** As long as it is the same, so is the file, and it need not be read. */
  readonly version: string;
  /** Of a file that was read. */
  readonly bytes?: Buffer;
}

/** Never rejects, and never waits for a writer: only regular files are read, and no more of them than is bounded. */
export async function readDiskText(path: string): Promise<DiskText> {
  return readAtOnce(path) ?? disk.run(path, () => readText(path));
}

/** What is local and short: other threads are asked seven times, which takes longer than the disk does. */
function readAtOnce(path: string): DiskText | undefined {
  try {
    // To open a device may do something.
    if (disk.moment().isOnNetwork(path) || !statSync(path).isFile()) return undefined;
    const { content, found } = readUpToSync(path, MAX_SMALL);
    const bytes = Buffer.from(content); // without what is left of a longer buffer
    return { hash: hashOf(bytes), version: versionOf(found), bytes };
  } catch {
    return undefined;
  }
}

async function readText(path: string): Promise<DiskText> {
  try {
    const found = await stat(path);
    const version = versionOf(found);
    // To open a device may do something.
    if (!found.isFile()) return { hash: "no file", version };
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const found = await file.stat();
      const version = versionOf(found);
      if (!found.isFile()) return { hash: "no file", version };
      const bytes = await readUpTo(file, MAX_SIZE);
      return bytes ? { hash: hashOf(bytes), version, bytes } : { hash: version, version };
    } finally {
      await file.close();
    }
  } catch (error) {
    return { hash: codeOf(error), version: codeOf(error) };
  }
}

/** The {@link DiskText.version} of what is at a path. Never rejects. */
export async function readVersion(path: string): Promise<string> {
  if (disk.moment().isOnNetwork(path)) return disk.run(path, () => stat(path).then(versionOf, codeOf));
  try {
    return versionOf(statSync(path));
  } catch (error) {
    return codeOf(error);
  }
}

/** @returns `undefined` when there is more; what a file says of its size may be wrong. */
async function readUpTo(file: FileHandle, size: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  for await (const chunk of file.createReadStream({ autoClose: false, end: size, highWaterMark: CHUNK }))
    chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  return bytes.length > size ? undefined : bytes;
}

export function hashOf(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("base64");
}

/** The hash of a text without what the CLI changes when it writes: it restores the file's CRLF and byte order mark. */
export function hashOfPlain(text: string | Buffer): string {
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  const unmarked = bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? bytes.subarray(3) : bytes;
  if (!unmarked.includes("\r\n")) return hashOf(unmarked);
  return createHash("sha256")
    .update(unmarked.toString("latin1").replaceAll("\r\n", "\n"), "latin1")
    .digest("base64");
}

const BYTE_ORDER_MARK = Buffer.from("\uFEFF");
