/**
 * Writes the user's files, for all features. Replaces a file only if the file still contains the expected bytes. Keeps
 * the file's metadata. If anything fails, leaves the file unchanged.
 */
import { constants } from "node:fs";
import {
  access,
  type FileHandle,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  rmdir,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Refusal } from "../base/refusal.ts";
import { disk } from "./disk.ts";
import { codeOf } from "./error-code.ts";
import {
  type FileState,
  HIDDEN,
  HIDDEN_FOLDER,
  isBelowLink,
  MAX_FILE_BYTES,
  type Metadata,
  metadataOf,
  READ_FLAGS,
  readState,
} from "./file-state.ts";
import { versionOf } from "./file-version.ts";
import { placeOf } from "./open-file.ts";
import { platform } from "./platform.ts";
import type { TemporaryFiles } from "./temporary-files.ts";

/** Permission bits of a new file. */
const NEW_FILE_MODE = 0o644;

/** The wanted state of a file. */
interface Wanted {
  /** New content of the file, with one character for each byte (latin1). Undefined removes the file. */
  readonly text: string | undefined;
  /** Metadata to set. Default: the file keeps its metadata. */
  readonly metadata?: Metadata | undefined;
  /** Whether to write the user's own file even if the file is read-only, as `:w!` does. */
  readonly mayBeReadOnly?: boolean;
}

export interface UserFiles {
  /**
   * Replaces, creates or removes a file, if its current state is the expected state.
   * @param path a {@link realPath}
   * @param expected the state that the file must have. If its bytes are unknown, the versions are compared
   * @returns the new state
   * @throws {Refusal} with a message for the user. The file is then unchanged
   */
  replace(path: string, expected: FileState, wanted: Wanted): Promise<FileState>;
}

/**
 * Creates the writer of user files.
 * @param temporaryFiles records each temporary file, so that a later host can remove the file after a crash
 */
export function createUserFiles(temporaryFiles: TemporaryFiles): UserFiles {
  return {
    replace: (path, expected, wanted) =>
      disk.run(path, async () => {
        const found = await check(path, expected);
        try {
          if (wanted.text === undefined) await rm(path, { force: true });
          else await write(path, Buffer.from(wanted.text, "latin1"), { ...wanted, found, temporaryFiles });
        } catch (error) {
          if (error instanceof Refusal) throw error;
          throw new Refusal(`${path} was not changed, because it cannot be written (${codeOf(error)})`);
        }
        return readState(path);
      }),
  };
}

/** Reads the current state of a file. @throws {Refusal} if the file is not in the expected state */
async function check(path: string, expected: FileState): Promise<FileState> {
  if (await isBelowLink(path))
    throw new Refusal(`${path} was not changed, because one of its parent folders is now a symbolic link`);
  const maxBytes =
    expected.kind === "known" ? Math.max(MAX_FILE_BYTES, expected.text.length) : MAX_FILE_BYTES;
  const found = await readState(path, maxBytes);
  const isSame =
    expected.kind === "known"
      ? found.kind === "known" && found.text === expected.text
      : found.kind === expected.kind && (found.kind === "absent" || found.version === expected.version);
  if (found.version === HIDDEN) throw new Refusal(`${path} was not changed, because ${HIDDEN_FOLDER}`);
  if (!isSame) throw changed(path);
  return found;
}

function changed(path: string): Refusal {
  return new Refusal(`${path} was not written, because another program or user has changed it`);
}

interface Writing extends Pick<Wanted, "metadata" | "mayBeReadOnly"> {
  readonly found: FileState;
  readonly temporaryFiles: TemporaryFiles;
}

async function write(path: string, bytes: Buffer, writing: Writing): Promise<void> {
  if (writing.found.kind === "absent") return create(path, bytes, writing);
  const stats = await lstat(path);
  if (stats.isSymbolicLink() || stats.isDirectory()) return create(path, bytes, writing);
  if (!stats.isFile()) throw new Refusal(`${path} was not changed, because it is not a regular file`);
  if (!writing.mayBeReadOnly) await access(path, constants.W_OK);
  if (!(await exchange(path, bytes, writing))) await overwrite(path, bytes, writing);
}

/**
 * Checks that an open file is the file at its path, and is in the expected state. Another user may have replaced the file
 * or one of its folders.
 */
async function checkOpen(file: FileHandle, path: string, expected: FileState): Promise<void> {
  const stats = await file.stat();
  if (!stats.isFile() || placeOf(file.fd, path) !== path) throw changed(path);
  const isSame =
    expected.kind === "known"
      ? stats.size === expected.text.length && (await file.readFile("latin1")) === expected.text
      : versionOf(stats) === expected.version;
  if (!isSame) throw changed(path);
}

/**
 * Creates a file, or replaces a symbolic link or an empty directory. Readers never see an incomplete file. If another
 * program creates the file meanwhile, keeps the file of that program.
 */
async function create(
  path: string,
  bytes: Buffer,
  { found, metadata, temporaryFiles }: Writing,
): Promise<void> {
  // The modes of removed folders are unknown. A folder for a private file is private.
  const isPrivate = metadata !== undefined && (metadata.mode & 0o077) === 0;
  await mkdir(dirname(path), { recursive: true, mode: isPrivate ? 0o700 : 0o777 });
  await temporaryFiles.use(path, async (temporary) => {
    const file = await open(temporary, "wx", 0o600);
    try {
      await fill(file, bytes);
      await setMetadata(file, path, { ...metadataOf(await file.stat()), mode: NEW_FILE_MODE, ...metadata });
      try {
        if (found.kind === "absent") return await link(temporary, path);
      } catch (error) {
        if (codeOf(error) === "EEXIST") throw changed(path);
        // Renames the temporary file if the file system has no hard links.
      }
      await check(path, found);
      if (found.kind !== "absent" && (await lstat(path)).isDirectory()) await removeDirectory(path);
      await move(file, temporary, path);
    } finally {
      await file.close();
    }
  });
}

/** Removes a directory that contains no files. Also removes its empty subdirectories. */
async function removeDirectory(path: string): Promise<void> {
  const isEmpty = (await readdir(path, { withFileTypes: true, recursive: true })).every((entry) =>
    entry.isDirectory(),
  );
  if (!isEmpty)
    throw new Refusal(`${path} was not written, because it is now a directory that contains files`);
  await removeEmpty(path);
}

/** Removes a directory and its subdirectories. Fails if another program has created a file there meanwhile. */
async function removeEmpty(directory: string): Promise<void> {
  for (const name of await readdir(directory)) await removeEmpty(join(directory, name));
  await rmdir(directory);
}

/**
 * Replaces a file atomically with a temporary file. The temporary file gets the same metadata.
 * @returns false if the temporary file cannot get this metadata
 */
async function exchange(path: string, bytes: Buffer, writing: Writing): Promise<boolean> {
  const { found, metadata, temporaryFiles } = writing;
  const old = await open(path, READ_FLAGS).catch(() => undefined);
  if (!old) return false;
  try {
    const stats = await old.stat();
    // Overwrites a file with several hard links, because replacing it would separate the links. Also overwrites a file
    // of another user, because replacing it would change its owner.
    if (stats.nlink !== 1 || !platform.isOwn(stats.uid)) return false;
    await checkOpen(old, path, found);
    return await temporaryFiles.use(path, async (temporary) => {
      // Opens the temporary file before `cp` copies the mode of the user's file, because a read-only file cannot be
      // opened for writing.
      const file = await open(temporary, "wx+", 0o600).catch(() => undefined);
      if (!file) return false;
      try {
        const { copyAttributes } = await import("./copy-attributes.ts"); // loaded late, so that the host starts fast
        if (!(await copyAttributes(old.fd, file.fd))) return false;
        const own = metadataOf(await file.stat());
        if (!isDeepStrictEqual(own, metadataOf(stats))) return false;
        await fill(file, bytes); // also clears setuid and setgid
        await setMetadata(file, path, metadata ?? own);
        // Checks again, because the file may have changed while the metadata were copied.
        await check(path, found);
        await move(file, temporary, path);
        return true;
      } finally {
        await file.close();
      }
    });
  } finally {
    await old.close();
  }
}

/** Gives a temporary file its final name. @throws {Refusal} if another file has replaced the temporary file */
async function move(file: FileHandle, temporary: string, path: string): Promise<void> {
  if (placeOf(file.fd, temporary) !== temporary) throw changed(path);
  await rename(temporary, path);
}

async function fill(file: FileHandle, bytes: Buffer): Promise<void> {
  await writeAt(file, bytes, 0);
  await file.truncate(bytes.length);
  await file.datasync(); // without this, a power failure could leave an empty file
}

/**
 * Writes the bytes into the file itself. First writes the part beyond the old end of the file: on a full disk, this
 * fails before any old byte is changed. If anything else fails, restores the previous bytes.
 */
async function overwrite(path: string, bytes: Buffer, { found, metadata }: Writing): Promise<void> {
  const file = await openForWriting(path);
  try {
    await checkOpen(file, path, found);
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

/** Opens a file for writing. Makes a read-only file of the user writable while opening it. */
async function openForWriting(path: string): Promise<FileHandle> {
  const flags = constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  try {
    return await open(path, flags);
  } catch (error) {
    if (codeOf(error) !== "EACCES") throw error;
  }
  const readable = await open(path, READ_FLAGS);
  try {
    const { mode } = metadataOf(await readable.stat());
    await readable.chmod(mode | 0o200);
    return await open(path, flags).finally(() => readable.chmod(mode));
  } finally {
    await readable.close();
  }
}

async function writeAt(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at, position + at);
    at += bytesWritten;
  }
}

/** Sets the owner, group and mode of a file. */
async function setMetadata(file: FileHandle, path: string, { uid, gid, mode }: Metadata): Promise<void> {
  const own = metadataOf(await file.stat());
  if (uid !== own.uid || gid !== own.gid)
    await file.chown(uid, gid).catch(() => {
      throw new Refusal(`${path} was not changed, because the file would get another owner or group`);
    });
  if (mode !== own.mode || uid !== own.uid || gid !== own.gid) await file.chmod(mode);
}
