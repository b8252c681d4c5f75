/** The discovery file: how a CLI finds this bridge. */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { Refusal } from "../refusal.ts";
import { DISCOVERY_DIRECTORY, type Discovery, discoveryFileName, IDE_INFO } from "./wire.ts";

export interface DiscoveryFile {
  readonly path: string;
  /**
   * Replaces the file with one that lists these roots, atomically.
   * @throws {DiscoveryError}
   */
  write(workspace: readonly string[]): void;
  /** Deletes the file, synchronously, so that it also works in a signal handler. May run twice. */
  remove(): void;
}

/** A place that cannot be trusted with a token, or not be written; the message tells the user what to do. */
export class DiscoveryError extends Refusal {
  override readonly name = "DiscoveryError";
}

/** @param pid the editor's process as the CLI finds it. */
export function createDiscoveryFile(pid: number, port: number, authToken: string): DiscoveryFile {
  const directory = discoveryDirectory();
  const name = discoveryFileName(pid, port);
  const path = join(directory, name);
  const draft = join(directory, draftName(name));
  return {
    path,
    write(workspace) {
      prepareDirectory();
      const content: Discovery = {
        port,
        workspacePath: workspace.join(delimiter),
        authToken,
        ideInfo: IDE_INFO,
      };
      // Written beside and renamed: a CLI that reads at any moment sees the old file or the new
      // one, and nobody else can read either. The flag refuses to follow whatever is at that name.
      try {
        rmSync(draft, { force: true });
        writeFileSync(draft, JSON.stringify(content), { mode: 0o600, flag: "wx" });
        renameSync(draft, path);
      } catch (error) {
        remove(draft);
        const reason = code(error);
        const advice = ADVICE[reason] ?? "check this directory, or set TMPDIR to another";
        throw new DiscoveryError(`cannot write the discovery file ${path} (${reason}); ${advice}`, {
          cause: error,
        });
      }
    },
    remove() {
      remove(path);
      remove(draft);
    },
  };
}

const ADVICE: Record<string, string> = {
  ENOSPC: "the disk is full: free some space, or set TMPDIR to a directory on another disk",
  EDQUOT: "your disk quota is used up: free some space, or set TMPDIR to a directory on another disk",
  EFBIG: "the limit on file sizes is too low: raise it (ulimit -f)",
  EROFS: "the file system is read-only: set TMPDIR to a directory that you can write to",
  EISDIR: "a directory is in its place: remove it",
};

/** Where every editor's discovery files are. */
export function discoveryDirectory(): string {
  return join(tmpdir(), ...DISCOVERY_DIRECTORY);
}

/** The name under which a discovery file is written, which no CLI reads. */
export function draftName(name: string): string {
  return `.${name}.tmp`;
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Gone already, or never made.
  }
}

/** Makes `<tmpdir>/gemini/ide`, private to the user, and refuses one in which others could act. */
function prepareDirectory(): void {
  let directory = tmpdir();
  const uid = process.getuid?.();
  checkParent(directory, uid);
  for (const name of DISCOVERY_DIRECTORY) {
    directory = join(directory, name);
    try {
      mkdirSync(directory, { mode: 0o700 });
    } catch (error) {
      if (code(error) !== "EEXIST") {
        const advice = "set TMPDIR to a directory that you can write to";
        throw new DiscoveryError(`cannot make ${directory} (${code(error)}); ${advice}`, { cause: error });
      }
    }
    const found = lstatSync(directory); // of a symbolic link itself: where it leads is somebody else's choice
    if (found.isSymbolicLink())
      throw new DiscoveryError(
        `${directory} is a symbolic link; remove it, or set TMPDIR to another directory`,
      );
    if (!found.isDirectory())
      throw new DiscoveryError(`${directory} is no directory; remove it, or set TMPDIR to another directory`);
    if (uid !== undefined && found.uid !== uid)
      throw new DiscoveryError(`${directory} belongs to another user; set TMPDIR to a directory of your own`);
    if (uid !== undefined && (found.mode & 0o022) !== 0) chmodSync(directory, 0o700);
  }
}

/** Refuses a temporary directory in which another user could put a directory of theirs in the place of ours. */
function checkParent(directory: string, uid: number | undefined): void {
  if (!isAbsolute(directory)) throw new DiscoveryError(`TMPDIR is ${directory}; it must be an absolute path`);
  const found = statSync(directory, { throwIfNoEntry: false });
  if (!found?.isDirectory())
    throw new DiscoveryError(`the temporary directory ${directory} does not exist; make it, or set TMPDIR`);
  if (uid === undefined) return;
  const sticky = (found.mode & 0o1000) !== 0;
  if ((found.mode & 0o002) !== 0 && !sticky)
    throw new DiscoveryError(
      `anyone may rename what is in ${directory}; set its sticky bit (chmod +t), or set TMPDIR to a directory of your own`,
    );
  if (found.uid !== uid && found.uid !== 0)
    throw new DiscoveryError(`${directory} belongs to another user; set TMPDIR to a directory of your own`);
}

function code(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
