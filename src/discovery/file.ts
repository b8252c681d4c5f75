/** The discovery file on disk: how a CLI finds this bridge. src/discovery/discovery.ts looks after it. */
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
import { IDE_INFO } from "../contract/companion.ts";
import { directoryOf, fileName } from "../profiles/paths.ts";
import type { Profile } from "../profiles/profiles.ts";
import { codeOf } from "../system/error-code.ts";
import { here } from "../system/here.ts";
import { readSmallFile } from "../system/small-file.ts";
import { type Announcement, discoveryContent } from "./content.ts";
import { DiscoveryError, prepareDirectory } from "./directory.ts";

export interface DiscoveryFile {
  readonly path: string;
  /** What is at its name: the file that was written, nothing, or a file that somebody else has put there. */
  state(): "ours" | "gone" | "foreign";
  /**
   * Replaces the file with one that lists these roots, atomically.
   * @throws {DiscoveryError}
   */
  write(workspace: readonly string[]): void;
  /** Makes its date that of now. */
  refresh(): void;
  /** Deletes the file if it is ours, synchronously, so that it also works in a signal handler. May run twice. */
  remove(): void;
}

/** For the CLIs of one profile. */
export function createDiscoveryFile(profile: Profile, announcement: Announcement): DiscoveryFile {
  const directory = directoryOf(profile);
  const name = fileName(profile, announcement.pid, announcement.port);
  const path = join(directory, name);
  const draft = join(directory, draftName(name));
  /** The file that was written last. While it is open no other one gets its number. */
  let written: number | undefined;

  /** From now on `next` is the file. */
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
      const content = discoveryContent(profile, announcement, workspace);
      let next: number | undefined;
      // Written beside and renamed: a CLI that reads at any moment sees the old file or the new
      // one, and nobody else can read either. The flag refuses to follow whatever is at that name.
      try {
        rmSync(draft, { force: true });
        next = openSync(draft, "wx", 0o600);
        writeFileSync(next, JSON.stringify(content));
        renameSync(draft, path);
        keep(next);
      } catch (error) {
        if (next !== undefined) closeSync(next);
        unlink(draft);
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
      if (state() === "ours") unlink(path);
      keep(undefined);
      unlink(draft);
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

const Named = z.object({ ideInfo: z.object({ name: z.string() }) });

/**
 * Where a name has no process in it, an editor may have it that listens on the same port of another machine or
 * container, with which this one shares the home directory.
 * @throws {DiscoveryError}
 */
function refuseOthers(path: string): void {
  const found = look(path);
  if (!found?.isFile()) return;
  const name = here.isOwn(found.uid) ? nameIn(path) : "of another user";
  if (name !== undefined && name !== IDE_INFO.name)
    throw new DiscoveryError(`${path} is another editor's (${name}); remove it if that one is gone`);
}

/** The editor that a discovery file names. */
function nameIn(path: string): string | undefined {
  try {
    return Named.parse(JSON.parse(readSmallFile(path)?.text ?? "")).ideInfo.name;
  } catch {
    return undefined; // no CLI could read it, either
  }
}

/** The name under which a discovery file is written, which no CLI reads. */
export function draftName(name: string): string {
  return `.${name}.tmp`;
}

function look(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // its directory is closed to us
  }
}

function unlink(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Gone already, or never made.
  }
}
