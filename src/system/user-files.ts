/**
 * Writes the user's files: the only function that does. It compares before it replaces, keeps what a file has beside its
 * bytes, and leaves the file as it was when anything fails.
 */
import { constants, type Stats } from "node:fs";
import { type FileHandle, link, lstat, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { Refusal } from "../base/refusal.ts";
import { disk } from "./disk.ts";
import { type Drafts, draftOf } from "./drafts.ts";
import { codeOf } from "./error-code.ts";
import { here } from "./here.ts";
import { succeeds } from "./run.ts";
import { type Metadata, metadataOf, realPath, type Sighting, see } from "./sighting.ts";

/** Permission bits of a file that had none before. */
const NEW_FILE = 0o644;

/** `text` has one character for each byte; without it there is to be no file. */
export interface Wanted {
  readonly text: string | undefined;
  /** Of a file that is made, or is to have these again. Without it a file keeps its own. */
  readonly metadata?: Metadata | undefined;
}

export interface UserFiles {
  /**
   * Replaces, makes or removes a file if it still is as expected.
   * @param path a {@link realPath}
   * @param expected what is there now; of a file whose bytes are not known its version counts
   * @returns what is there afterwards
   * @throws {Refusal} with a sentence for the user; the file is as it was
   */
  replace(path: string, expected: Sighting, wanted: Wanted): Promise<Sighting>;
}

/** @param drafts told of each draft, so that a later host removes those that a crash has left */
export function createUserFiles(drafts: Drafts): UserFiles {
  return {
    replace: (path, expected, wanted) =>
      disk.run(path, async () => {
        const found = await check(path, expected);
        try {
          if (wanted.text === undefined) await rm(path, { force: true });
          else
            await write(path, Buffer.from(wanted.text, "latin1"), {
              found,
              metadata: wanted.metadata,
              drafts,
            });
        } catch (error) {
          if (error instanceof Refusal) throw error;
          throw new Refusal(`${path} cannot be written (${codeOf(error)}): it is as it was`);
        }
        return see(path);
      }),
  };
}

/** @returns what is there. @throws {Refusal} when it is something else than expected */
async function check(path: string, expected: Sighting): Promise<Sighting> {
  // A folder on the way may have become a link that leads elsewhere.
  if ((await realPath(dirname(path))) !== dirname(path))
    throw new Refusal(`${path} leads elsewhere by now: nothing was written`);
  const found = await see(path);
  const isSame =
    expected.kind === "known"
      ? found.kind === "known" && found.text === expected.text
      : found.kind === expected.kind && (found.kind === "absent" || found.version === expected.version);
  if (!isSame) throw changed(path);
  return found;
}

function changed(path: string): Refusal {
  return new Refusal(`${path} has been changed by somebody else: nothing was written`);
}

interface Writing {
  readonly found: Sighting;
  readonly metadata: Metadata | undefined;
  readonly drafts: Drafts;
}

async function write(path: string, bytes: Buffer, writing: Writing): Promise<void> {
  if (writing.found.kind === "absent") return create(path, bytes, writing);
  const stats = await lstat(path);
  if (stats.isSymbolicLink()) return create(path, bytes, writing);
  if (!stats.isFile()) throw new Refusal(`${path} is no regular file: nothing was written`);
  // Another file in its place would lose its other names, or its owner.
  const mayMove = stats.nlink === 1 && here.isOwn(stats.uid);
  if (!mayMove || !(await exchange(path, bytes, stats, writing))) await overwrite(path, bytes, writing);
}

/**
 * Makes a file where there is none, or a link. Nobody sees a half of it, and what somebody else makes meanwhile stays.
 */
async function create(path: string, bytes: Buffer, { found, metadata, drafts }: Writing): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await withDraft(path, drafts, async (draft) => {
    const file = await open(draft, "wx", 0o600);
    try {
      await fill(file, bytes);
      await setMetadata(file, path, { ...metadataOf(await file.stat()), mode: NEW_FILE, ...metadata });
    } finally {
      await file.close();
    }
    try {
      if (found.kind === "absent") return await link(draft, path);
    } catch (error) {
      if (codeOf(error) === "EEXIST") throw changed(path);
      // Not every file system has links.
    }
    await check(path, found);
    await rename(draft, path);
  });
}

/**
 * Puts another file in the place of a file, with all that the file has beside its bytes: at every moment one of both is
 * there as a whole.
 * @returns false when that cannot be done here
 */
async function exchange(path: string, bytes: Buffer, stats: Stats, writing: Writing): Promise<boolean> {
  const { found, metadata, drafts } = writing;
  return withDraft(path, drafts, async (draft) => {
    if (!(await succeeds("cp", [...here.attributeCopy, "--", path, draft]))) return false;
    const file = await open(draft, constants.O_RDWR | constants.O_NOFOLLOW).catch(() => undefined);
    if (!file) return false;
    try {
      const own = metadataOf(await file.stat());
      if (own.uid !== stats.uid || own.gid !== stats.gid || own.mode !== (stats.mode & 0o7777)) return false;
      await fill(file, bytes); // which takes some permissions away
      await setMetadata(file, path, metadata ?? own);
    } finally {
      await file.close();
    }
    // The copy took its time.
    await check(path, found);
    await rename(draft, path);
    return true;
  });
}

/** Removes what is left of the draft, also when it has taken the file's place: then there is none. */
async function withDraft<T>(path: string, drafts: Drafts, use: (draft: string) => Promise<T>): Promise<T> {
  const draft = draftOf(path);
  drafts.begin(draft);
  try {
    return await use(draft);
  } finally {
    await rm(draft, { force: true }).catch(() => {});
    drafts.end(draft);
  }
}

async function fill(file: FileHandle, bytes: Buffer): Promise<void> {
  await writeAt(file, bytes, 0);
  await file.truncate(bytes.length);
  await file.datasync(); // a name for bytes that a power failure takes away would be an empty file
}

/**
 * Writes the bytes into the file itself. What it needs more of the disk it takes first, and gives back when there is not
 * enough; the bytes that were there are put back when anything else fails.
 */
async function overwrite(path: string, bytes: Buffer, { found, metadata }: Writing): Promise<void> {
  const file = await open(path, constants.O_RDWR | constants.O_NOFOLLOW);
  try {
    const before = await file.stat();
    const kept = metadata ?? metadataOf(before);
    await setMetadata(file, path, kept);
    const { size } = before;
    try {
      await writeAt(file, bytes.subarray(size), size);
      await writeAt(file, bytes.subarray(0, size), 0);
    } catch (error) {
      if (found.kind === "known") await writeAt(file, Buffer.from(found.text, "latin1"), 0);
      await file.truncate(size);
      throw error;
    }
    await file.truncate(bytes.length);
    await file.datasync();
    await setMetadata(file, path, kept);
  } finally {
    await file.close();
  }
}

async function writeAt(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at, position + at);
    at += bytesWritten;
  }
}

async function setMetadata(file: FileHandle, path: string, { uid, gid, mode }: Metadata): Promise<void> {
  const own = metadataOf(await file.stat());
  if (uid !== own.uid || gid !== own.gid)
    await file.chown(uid, gid).catch(() => {
      throw new Refusal(
        `${path} belonged to another user or group, which cannot be restored: nothing was written`,
      );
    });
  if (mode !== own.mode || uid !== own.uid || gid !== own.gid) await file.chmod(mode);
}
