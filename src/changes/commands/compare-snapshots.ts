/** Finds the files that differ between the snapshots before and after a shell command, with their earlier bytes. */
import { createYielder } from "../../base/work-slices.ts";
import { disk } from "../../system/disk.ts";
import {
  ABSENT,
  type FileState,
  type Metadata,
  NOT_REGULAR,
  readState,
  unknown,
} from "../../system/file-state.ts";
import { isBelow } from "../../system/path-relations.ts";
import { NOT_KNOWN } from "../file-change.ts";
import type { Difference, Snapshot, SnapshotRepository } from "./snapshot-repository.ts";

/** Maximum total size of the earlier bytes that are kept after one command (bytes). */
const MAX_EARLIER_BYTES = 256 * 1024 * 1024;
export const TOO_MUCH = "the command changed more than 256 MB";

/** Git's mode of a path without a file, and of a symbolic link. */
const NOTHING = "000000";
const LINK = "120000";

/** Permission bits of a restored file whose earlier permissions are unknown. */
const PRIVATE_MODE = 0o600;

/** A file that has changed. `before` and `after` differ. */
export interface ChangedFile {
  readonly path: string;
  readonly before: FileState;
  readonly after: FileState;
}

export interface ComparedSnapshots {
  readonly repository: SnapshotRepository;
  readonly before: Snapshot;
  readonly after: Snapshot;
  /** Time when the command began (Unix milliseconds). */
  readonly since: number;
  /** Directories whose files are compared. */
  readonly scope: readonly string[];
  /** Returns the metadata that a file had before the command. @param mode Git's mode of the file */
  metadataOf(path: string, mode: string): Metadata | undefined;
}

/** Yields the changed files. @throws {GitFailure} */
export async function* changedFiles(compared: ComparedSnapshots): AsyncGenerator<ChangedFile> {
  const { repository, scope } = compared;
  const differences: Difference[] = [];
  for await (const one of repository.compare(compared.before, compared.after))
    if (scope.some((directory) => isBelow(one.path, directory))) differences.push(one);
  const removed = await removedObjects(differences);
  const texts = repository.read(differences.filter(wasRegular).map(({ objectBefore }) => objectBefore));
  const yieldIfDue = createYielder();
  let room = MAX_EARLIER_BYTES;
  for (const one of differences) {
    await yieldIfDue();
    const { value: bytes } = wasRegular(one) ? await texts.next() : {};
    room -= bytes?.length ?? 0;
    const before = wasRegular(one)
      ? earlierState(one.objectBefore, bytes, room >= 0, compared.metadataOf(one.path, one.modeBefore))
      : await earlierStateOfOther(one, compared.since, removed);
    if (!before) continue;
    const after = await readState(one.path);
    if (!isSameState(before, after)) yield { path: one.path, before, after };
  }
}

function wasRegular({ modeBefore }: Difference): boolean {
  return modeBefore !== NOTHING && modeBefore !== LINK;
}

/** Returns the objects of the files that the command has removed. */
async function removedObjects(differences: readonly Difference[]): Promise<Set<string>> {
  const removed = new Set<string>();
  const yieldIfDue = createYielder();
  for (const { path, modeAfter, objectBefore } of differences) {
    await yieldIfDue();
    if (modeAfter === NOTHING && (await readState(path, 0)).kind === "absent") removed.add(objectBefore);
  }
  return removed;
}

function earlierState(
  object: string,
  bytes: Buffer | undefined,
  fits: boolean,
  metadata: Metadata | undefined,
): FileState {
  const own = { mode: PRIVATE_MODE, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const known = { metadata: metadata ?? own, version: `object ${object}` };
  if (!bytes) return { ...unknown(NOT_KNOWN), ...known };
  return fits
    ? { kind: "known", text: bytes.toString("latin1"), ...known }
    : { ...unknown(TOO_MUCH), ...known };
}

/**
 * Returns the state of a path before the command if the path was not in the snapshot. The file is new if it was born
 * since, or if the command has moved a file of the snapshot there. Any other file, such as an ignored file that was
 * moved, may be the only copy of its bytes: its earlier state is unknown, so that undo never deletes the file.
 * @param removed objects of the files that the command has removed
 * @returns undefined if the command has not changed the file
 */
async function earlierStateOfOther(
  { path, modeBefore, objectAfter }: Difference,
  since: number,
  removed: ReadonlySet<string>,
): Promise<FileState | undefined> {
  if (modeBefore === LINK) return unknown(NOT_REGULAR);
  const found = await disk.lstat(path).catch(() => undefined);
  if (!found) return undefined;
  const { birthtimeMs, ctimeMs, mtimeMs } = found;
  // Disks that do not store the birth of a file return its last change, which is also updated by a move.
  const isBorn = birthtimeMs >= since && (birthtimeMs !== ctimeMs || mtimeMs >= since);
  if (isBorn || removed.has(objectAfter)) return ABSENT;
  return ctimeMs >= since ? unknown(NOT_KNOWN) : undefined;
}

/** Returns whether two states have the same bytes. */
export function isSameState(a: FileState, b: FileState): boolean {
  if (a.version === b.version) return true;
  if (a.kind === "known" && b.kind === "known") return a.text === b.text;
  return a.kind === "absent" && b.kind === "absent";
}
