/**
 * Keeps the list of files that agents change. For each file: the record of changes, the agents that are editing the
 * file, and the changes that Neovim shows.
 */
import { isDeepStrictEqual } from "node:util";
import type { ShownChange } from "../contract/changes.ts";
import type { Author, Turn } from "../contract/turns.ts";
import type { Bridge } from "../neovim/bridge.ts";
import { type FileState, unknown } from "../system/file-state.ts";
import { createFileWatch } from "../system/file-watch.ts";
import { beginChange, type FileChange, isChanged, shown } from "./file-change.ts";
import type { StoredChanges } from "./stored-changes.ts";

/** Maximum total length of all texts (characters). Beyond this limit, the texts of further files are not kept. */
const MAX_TEXT_LENGTH = 64 * 1024 * 1024;
const FULL = "too many other changes are unreviewed; after you keep some, later changes can be undone";

/** Reason for an update: an agent has written the file in this turn, or the user has kept or undone hunks (`decision`). */
interface Cause {
  readonly turn?: Turn;
  readonly decision?: "kept" | "undone";
}

export interface ChangedFiles {
  get(path: string): FileChange | undefined;
  /** Returns the changed files, in the order of their first change. */
  all(): FileChange[];
  /** Returns the changed files, and the files that an agent may be about to change. */
  known(): FileChange[];
  /** Stores the new change record of a file, and shows the changes in Neovim. */
  set(change: FileChange, cause?: Cause): void;
  /** Must be called when an agent has begun or ended an edit of the file. */
  tidy(path: string): void;
  /** Tells Neovim whether to report each file that the user writes. Must be called when a turn starts or ends. */
  followUser(): void;
  /**
   * Creates the change record of a file, but does not store the record. @param found state of the file before the
   * agent's edit
   */
  begin(path: string, found: FileState, author: Author): FileChange;
  /** Restores stored change records, for example after a restart of the host process. */
  restore(changes: readonly FileChange[]): void;
  /** Stops watching the disk. Idempotent. */
  close(): void;
}

interface ChangedFilesOptions {
  bridge: Bridge;
  stored: StoredChanges;
  /** Called with files that may have changed on disk. */
  look: (paths: ReadonlySet<string>) => void;
  agentWrote(path: string, turn: Turn): void;
  isBeingEdited(path: string): boolean;
  /** Returns whether any agent is in a turn. */
  areAgentsAtWork(): boolean;
}

export function createChangedFiles(options: ChangedFilesOptions): ChangedFiles {
  const { bridge, stored } = options;
  const files = new Map<string, FileChange>();
  /** Total length of the texts of each file (characters). */
  const sizes = new Map<string, number>();
  let total = 0;
  /** For each path: the change that Neovim currently shows. */
  const told = new Map<string, ShownChange>();
  const watch = createFileWatch(options.look);
  /**
   * True if Neovim reports the files that the user writes. Undefined until the host has set this: after a restart of
   * the host process, Neovim may still have the earlier setting.
   */
  let following: boolean | undefined;

  function count(path: string, size: number): void {
    total += size - (sizes.get(path) ?? 0);
    if (size > 0) sizes.set(path, size);
    else sizes.delete(path);
  }

  function put(change: FileChange): void {
    files.set(change.path, change);
    count(change.path, sizeOf(change));
  }

  /**
   * Forgets a file without changes, unless an agent is editing the file. Stops watching a forgotten file, and watches
   * any other file. Tells Neovim whether to report the user's writes.
   */
  function tidy(path: string): void {
    const change = files.get(path);
    if (change && !isChanged(change) && !options.isBeingEdited(path)) {
      files.delete(path);
      count(path, 0);
      stored.forget(path);
    }
    if (files.has(path)) watch.add(path);
    else watch.remove(path);
    followUser();
  }

  function followUser(): void {
    const active = options.areAgentsAtWork() || files.size > 0;
    if (following === active) return;
    following = active;
    bridge.tell("changes_follow", { active });
  }

  /** @param written whether the file on disk has changed */
  function show(path: string, written: boolean, { turn, decision }: Cause = {}): void {
    const change = files.get(path);
    const now = change && isChanged(change) ? shown(change) : undefined;
    if (isDeepStrictEqual(now, told.get(path))) {
      if (written) bridge.tell("file_changed", { path });
      return;
    }
    if (now) told.set(path, now);
    else told.delete(path);
    bridge.tell("change_show", {
      path,
      change: now,
      written,
      edited: turn !== undefined && now !== undefined,
      decision: now ? undefined : decision,
    });
  }

  return {
    get: (path) => files.get(path),
    all: () => [...files.values()].filter(isChanged),
    known: () => [...files.values()],
    set(change, cause = {}) {
      const before = files.get(change.path);
      if (before === change) return;
      if (cause.turn) options.agentWrote(change.path, cause.turn);
      put(change);
      stored.save(change);
      tidy(change.path);
      const isWritten = cause.turn !== undefined || (before && before.version !== change.version);
      show(change.path, isWritten ?? false, cause);
    },
    tidy,
    followUser,
    begin(path, found, author) {
      const fits = found.kind !== "known" || total + found.text.length <= MAX_TEXT_LENGTH;
      return beginChange(path, fits ? found : { ...unknown(FULL), version: found.version }, author);
    },
    restore(changes) {
      for (const change of changes) {
        put(change);
        tidy(change.path);
        show(change.path, false);
      }
      followUser();
    },
    close: watch.close,
  };
}

function sizeOf({ text }: FileChange): number {
  const old = text.hunks.reduce(
    (sum, hunk) => sum + lengthOf(hunk.old) + lengthOf(hunk.edited?.lines ?? []),
    0,
  );
  return old + lengthOf(text.lines);
}

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + line.length, 0);
}
