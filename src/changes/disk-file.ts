/** A file's exact bytes, read and put back. The text of one has a character for each of its bytes (latin1). */
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, realpath, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Refusal } from "../base/refusal.ts";
import type { EditTexts } from "../contract/hooks.ts";
import { disk } from "../system/disk.ts";
import { codeOf } from "../system/error-code.ts";
import { here } from "../system/here.ts";
import { versionOf } from "../system/version.ts";

/** Of a longer one the text is not read (bytes). */
export const MAX_FILE = 8 * 1024 * 1024;

export interface DiskFile {
  /** Of a `file`. */
  readonly text?: string | undefined;
  /** `long`: its text is not read. `other`: no regular file, or one that cannot be read. `unknown`: there was a file. */
  readonly kind: "file" | "absent" | "long" | "other" | "unknown";
  /** Permission bits. */
  readonly mode?: number | undefined;
  /** As long as it is the same, so is the file. */
  readonly version: string;
  /** When that began (Unix milliseconds), of what is there. */
  readonly since?: number | undefined;
}

/** A file of which nothing is known but that it was there. */
export const UNKNOWN: DiskFile = { kind: "unknown", version: "unknown" };

/** Whoever writes a file empties it before, or takes it away: it must be as it is for so long (milliseconds). */
const STILL = 30;
const MAX_WAITS = 10;

/** A FIFO is not waited for, a link not followed: the path is a real one. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/**
 * The path without links, also of what is not there (yet).
 * @param path absolute
 */
export async function realPath(path: string): Promise<string> {
  const missing: string[] = [];
  for (let head = path; ; head = dirname(head)) {
    const found = await disk.run(head, () => realpath(head)).catch(() => undefined);
    if (found !== undefined) return join(found, ...missing);
    if (dirname(head) === head) return path;
    missing.unshift(basename(head));
  }
}

/** @param path a {@link realPath} */
export function readDiskFile(path: string): Promise<DiskFile> {
  return disk.run(path, async () => {
    try {
      const file = await open(path, READ);
      try {
        return await read(file);
      } finally {
        await file.close();
      }
    } catch (error) {
      const code = codeOf(error);
      return { kind: code === "ENOENT" || code === "ENOTDIR" ? "absent" : "other", version: code };
    }
  });
}

/**
 * Reads what somebody may be about to write, when they have written it.
 * @param path a {@link realPath}
 */
export async function readStillFile(path: string): Promise<DiskFile> {
  const start = Date.now();
  for (let waits = 0; ; waits += 1) {
    const found = await readDiskFile(path);
    const age = Date.now() - (found.since ?? start);
    // A clock that is ahead is that of another machine.
    if (age >= STILL || age < 0 || waits === MAX_WAITS) return found;
    await delay(STILL - age);
  }
}

async function read(file: FileHandle): Promise<DiskFile> {
  const found = await file.stat();
  const version = versionOf(found);
  const since = found.ctimeMs;
  if (!found.isFile()) return { kind: "other", version, since };
  const mode = found.mode & 0o7777;
  if (found.size > MAX_FILE) return { kind: "long", mode, version, since };
  const text = (await file.readFile()).toString("latin1");
  return text.length > MAX_FILE
    ? { kind: "long", mode, version, since }
    : { kind: "file", mode, version, since, text };
}

/**
 * What a file was before an edit that nobody has looked at in time.
 * @param found what it is after it
 * @param texts as the CLI tells them
 * @returns {@link UNKNOWN} where they do not say it to the byte
 */
export function fileBefore({ text, mode }: DiskFile, texts: EditTexts | undefined): DiskFile {
  const bytesOf = (plain: string) => Buffer.from(plain).toString("latin1");
  if (!texts || bytesOf(texts.after) !== text || /[\r\uFFFD]/.test(`${texts.before}${text}`)) return UNKNOWN;
  return texts.before === null
    ? { kind: "absent", version: "ENOENT" }
    : { kind: "file", text: bytesOf(texts.before), mode, version: "told" };
}

/**
 * Writes a file, or takes it away, if it still is as expected.
 * @param path a {@link realPath}
 * @param expected the text that is there now; nothing for no file
 * @param text the text that is to be there; nothing for no file
 * @param mode permission bits of a file that is made
 * @throws {Refusal} with a sentence for the user
 */
export async function restore(
  path: string,
  expected: string | undefined,
  text: string | undefined,
  mode: number | undefined,
): Promise<void> {
  // A folder on the way may have become a link that leads elsewhere.
  if ((await realPath(path)) !== path) throw new Refusal(`${path} leads elsewhere by now`);
  const found = await readDiskFile(path);
  if (found.text !== expected || (found.kind !== "file" && found.kind !== "absent"))
    throw new Refusal(`${path} is being changed by somebody else`);
  try {
    if (text !== undefined) await write(path, Buffer.from(text, "latin1"), found.mode ?? mode);
    else await rm(path, { force: true });
  } catch (error) {
    throw new Refusal(`${path} cannot be written (${codeOf(error)})`);
  }
}

async function write(path: string, bytes: Buffer, mode = 0o644): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  if (await mustStay(path)) {
    const file = await open(path, constants.O_WRONLY | constants.O_TRUNC | constants.O_NOFOLLOW);
    return file.writeFile(bytes).finally(() => file.close());
  }
  const draft = join(dirname(path), `.${basename(path).slice(0, 200)}.${randomBytes(6).toString("hex")}`);
  try {
    const file = await open(draft, "wx", 0o600);
    try {
      await file.writeFile(bytes);
      await file.chmod(mode);
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Another file in its place would lose its other names, or its owner. */
async function mustStay(path: string): Promise<boolean> {
  const file = await open(path, READ).catch(() => undefined);
  if (!file) return false;
  const { nlink, uid } = await file.stat().finally(() => file.close());
  return nlink > 1 || !here.isOwn(uid);
}
