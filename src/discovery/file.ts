/** Writes and deletes one discovery file, by which CLIs find this bridge. */
import {
  closeSync,
  fstatSync,
  futimesSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { attempt } from "../base/attempt.ts";
import { IDE_NAME } from "../contract/companion.ts";
import { announcedEditors } from "../profiles/announced-editors.ts";
import { directoryOf, fileName } from "../profiles/discovery-paths.ts";
import type { Profile } from "../profiles/profiles.ts";
import { codeOf } from "../system/error-code.ts";
import { platform } from "../system/platform.ts";
import { readJson } from "../system/small-file.ts";
import { type Announcement, discoveryContent, editorName } from "./content.ts";
import { DiscoveryError, prepareDirectory } from "./private-directory.ts";

export interface DiscoveryFile {
  readonly path: string;
  /**
   * Tells whether the discovery file was written by `write` ("ours"), is missing ("gone") or belongs to another program
   * ("foreign").
   */
  state(): "ours" | "gone" | "foreign";
  /**
   * Writes the discovery file with these workspace roots. Replaces an earlier file atomically.
   * @throws {DiscoveryError}
   */
  write(workspace: readonly string[]): void;
  /** Updates the modification time of the discovery file. */
  refresh(): void;
  /**
   * Deletes the discovery file if `write` has written it. Synchronous, so that a signal handler can call this.
   * Idempotent.
   */
  remove(): void;
}

/** Prepares access to the discovery file of a profile. Does not touch the disk yet. */
export function createDiscoveryFile(profile: Profile, announcement: Announcement): DiscoveryFile {
  const directory = directoryOf(profile);
  const name = fileName(profile, announcement.pid, announcement.port);
  const path = join(directory, name);
  const draft = join(directory, draftName(name));
  /** File descriptor of the last written discovery file. Kept open, so that no other file can get the same inode. */
  let written: number | undefined;

  /** Closes the current file descriptor, and keeps `next` instead. */
  function keep(next: number | undefined): void {
    if (written !== undefined) closeSync(written);
    written = next;
  }

  function state(): ReturnType<DiscoveryFile["state"]> {
    const found = look(path);
    if (!found) return "gone";
    const { ino, dev } = written === undefined ? {} : fstatSync(written);
    return found.ino === ino && found.dev === dev ? "ours" : "foreign";
  }

  return {
    path,
    state,
    write(workspace) {
      prepareDirectory(profile);
      if (written === undefined && !profile.file.includes("{pid}")) refuseOthers(path);
      const displayName = editorName(announcement, workspace, namesOfOthers(path, profile, announcement));
      const content = discoveryContent(profile, announcement, workspace, displayName);
      let next: number | undefined;
      // Writes a draft and renames it, so that a CLI never reads an incomplete file. With "wx", the write fails if
      // another program has put a file or link at the draft's path.
      try {
        rmSync(draft, { force: true });
        next = openSync(draft, "wx", 0o600);
        writeFileSync(next, JSON.stringify(content));
        renameSync(draft, path);
        keep(next);
      } catch (error) {
        if (next !== undefined) closeSync(next);
        attempt(() => unlinkSync(draft));
        const reason = codeOf(error);
        const advice = ADVICE[reason] ?? "check this directory, or set TMPDIR to another";
        throw new DiscoveryError(`cannot write the discovery file ${path} (${reason}); ${advice}`, {
          cause: error,
        });
      }
    },
    refresh() {
      const now = new Date();
      if (written !== undefined) futimesSync(written, now, now);
    },
    remove() {
      // Another program may delete the file meanwhile.
      if (state() === "ours") attempt(() => unlinkSync(path));
      keep(undefined);
      attempt(() => unlinkSync(draft));
    },
  };
}

const ADVICE: Record<string, string> = {
  ENOSPC: "the disk is full: free some space, or set TMPDIR to a directory on another disk",
  EDQUOT: "your disk quota is exhausted: free some space, or set TMPDIR to a directory on another disk",
  EFBIG: "the limit on file sizes is too low: raise it (ulimit -f)",
  EROFS: "the file system is read-only: set TMPDIR to a directory that you can write to",
  EISDIR: "remove the directory with this name",
};

/**
 * Extracts the editor's name from a discovery file. Lock files of other editors may contain the name only as `ideName`.
 */
const Named = z.union([
  z.object({ ideInfo: z.object({ name: z.string() }) }).transform(({ ideInfo }) => ideInfo.name),
  z.object({ ideName: z.string() }).transform(({ ideName }) => ideName),
]);

/**
 * Refuses to replace another editor's file. Two editors may use the same path if machines or containers share a home
 * directory, and the name of the file contains no process id.
 * @throws {DiscoveryError}
 */
function refuseOthers(path: string): void {
  const found = look(path);
  if (!found?.isFile()) return;
  // A file without an editor's name may be replaced, because CLIs cannot use such a file.
  const name = platform.isOwn(found.uid) ? readJson(path, Named) : "of another user";
  if (name !== undefined && name !== IDE_NAME)
    throw new DiscoveryError(
      `${path} belongs to another editor (${name}); remove it if that editor is not running`,
    );
}

/** Returns the names of the other running editors with discovery files for the same CLI. */
function namesOfOthers(own: string, profile: Profile, { editorPid }: Announcement): string[] {
  return announcedEditors(platform.temporaryDirectory(process.env), profile)
    .filter(({ path, pid, isAlive }) => isAlive && path !== own && pid !== editorPid)
    .flatMap(({ content }) => content?.ideInfo?.displayName ?? []);
}

/** Returns the name for the draft of a discovery file. CLIs ignore files with such names. */
export function draftName(name: string): string {
  return `.${name}.tmp`;
}

function look(path: string): Stats | undefined {
  return attempt(() => lstatSync(path, { throwIfNoEntry: false }));
}
