/** Reads and hashes files. Keeps hashes instead of contents, because reviewed files may be large and many. */
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { open, stat } from "node:fs/promises";
import { attempt } from "../base/attempt.ts";
import { disk } from "./disk.ts";
import { codeOf } from "./error-code.ts";
import { versionOf } from "./file-version.ts";
import { OPEN_FLAGS } from "./open-file.ts";
import { MAX_SMALL, readUpToSync } from "./small-file.ts";

/** Maximum size of a file that is read (bytes). A larger file is identified by its size and times. */
const MAX_READ_BYTES = 64 * 1024 * 1024;

export interface DiskText {
  /**
   * Hash of the bytes. For a file that is too large, its version. For a file that was not read for another reason, the
   * reason.
   */
  readonly hash: string;
  /** Version of the file. Stays the same while the file does not change, see {@link versionOf}. */
  readonly version: string;
  /** Content of the file; absent if it was not read. */
  readonly bytes?: Buffer;
}

/** Reads a regular file of at most MAX_READ_BYTES. Never rejects, and never waits for the writer of a pipe. */
export async function readDiskText(path: string): Promise<DiskText> {
  return readAtOnce(path) ?? disk.run(path, () => readText(path));
}

/** Reads a small local file synchronously, because this is faster than seven asynchronous calls. */
function readAtOnce(path: string): DiskText | undefined {
  return attempt(() => {
    // Checks the type of the file before opening the file, because opening a device may have side effects.
    if (disk.moment().isOnNetwork(path) || !statSync(path).isFile()) return undefined;
    const { content, found } = readUpToSync(path, MAX_SMALL);
    const bytes = Buffer.from(content); // copies the bytes, so that the longer buffer can be freed
    return { hash: hashOf(bytes), version: versionOf(found), bytes };
  });
}

async function readText(path: string): Promise<DiskText> {
  try {
    const found = await stat(path);
    const version = versionOf(found);
    // Checks the type of the file before opening the file, because opening a device may have side effects.
    if (!found.isFile()) return { hash: "no file", version };
    const file = await open(path, OPEN_FLAGS);
    try {
      const found = await file.stat();
      const version = versionOf(found);
      if (!found.isFile()) return { hash: "no file", version };
      if (found.size > MAX_READ_BYTES) return { hash: version, version };
      const bytes = await file.readFile();
      return { hash: hashOf(bytes), version, bytes };
    } finally {
      await file.close();
    }
  } catch (error) {
    return { hash: codeOf(error), version: codeOf(error) };
  }
}

/** Reads the {@link DiskText.version} of the file at a path. Never rejects. */
export async function readVersion(path: string): Promise<string> {
  return disk.stat(path).then(versionOf, codeOf);
}

export function hashOf(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("base64");
}

/**
 * Hashes a text as if it had LF instead of CRLF and no byte order mark. Proposals contain neither CRLF nor a byte order
 * mark: the CLI restores both when it writes the file.
 */
export function hashOfPlain(text: string | Buffer): string {
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  const unmarked = bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? bytes.subarray(3) : bytes;
  if (!unmarked.includes("\r\n")) return hashOf(unmarked);
  return createHash("sha256")
    .update(unmarked.toString("latin1").replaceAll("\r\n", "\n"), "latin1")
    .digest("base64");
}

const BYTE_ORDER_MARK = Buffer.from("\uFEFF");
