/** Keeps one record for each file that agents change, and reports each update of a record to the listeners. */
import type { Author, Turn } from "../contract/turns.ts";
import { type FileState, unknown } from "../system/file-state.ts";
import type { EditsInProgress } from "./edits-in-progress.ts";
import { beginChange, type FileChange, follow, isChanged } from "./file-change.ts";
import type { StoredChanges } from "./stored-changes.ts";

/** Maximum total length of all texts (characters). Beyond this limit, the texts of further files are not kept. */
const MAX_TEXT_LENGTH = 64 * 1024 * 1024;
const FULL = "too many other changes are unreviewed; after you keep some, later changes can be undone";

/** Reason for an update. */
interface Cause {
  /** Set if an agent has written the file: the turn, and the records before and after the write. */
  readonly wrote?:
    | { readonly turn: Turn; readonly before: FileChange; readonly after: FileChange }
    | undefined;
  /** Set if the user has kept or undone hunks. */
  readonly decision?: "kept" | "undone";
}

/** An update of a record. */
export interface Update extends Cause {
  readonly path: string;
  /** The changed file; undefined if no change is left. */
  readonly change: FileChange | undefined;
  /** Whether the file on disk has changed. */
  readonly isWritten: boolean;
}

export interface ChangedFiles {
  /** Adds a listener that is called after each update. */
  on(listener: (update: Update) => void): void;
  get(path: string): FileChange | undefined;
  /** Returns the changed files, in the order of their first change. */
  all(): FileChange[];
  /** Returns the changed files, and the files that an agent may be about to change. */
  known(): FileChange[];
  /** Whether there is no known file. */
  readonly isEmpty: boolean;
  /** Sets the record of a file. */
  set(change: FileChange, cause?: Cause): void;
  /**
   * Updates a record from the state on disk. What a CLI has written for itself is no change.
   * @param turn turn that has written the file; undefined for the user
   */
  follow(before: FileChange, now: FileState, turn?: Turn): void;
  /** Forgets a file without changes. Must be called when an agent has begun or ended an edit of the file. */
  tidy(path: string): void;
  /** Creates the record of a file, but does not set it. @param found state of the file before the agent's edit */
  begin(path: string, found: FileState, author: Author): FileChange;
  /** Adds stored records, for example after a restart of the host process. */
  restore(changes: readonly FileChange[]): void;
}

interface ChangedFilesOptions {
  stored: StoredChanges;
  edits: Pick<EditsInProgress, "agentAt">;
  /** Returns whether a CLI has written this file for itself, outside the user's project. */
  isOwnFile(cli: string, path: string): boolean;
}

export function createChangedFiles({ stored, edits, isOwnFile }: ChangedFilesOptions): ChangedFiles {
  const files = new Map<string, FileChange>();
  const listeners: ((update: Update) => void)[] = [];
  /** Total length of the texts of each file (characters). */
  const sizes = new Map<string, number>();
  let total = 0;

  function count(path: string, size: number): void {
    total += size - (sizes.get(path) ?? 0);
    if (size > 0) sizes.set(path, size);
    else sizes.delete(path);
  }

  function put(change: FileChange): void {
    files.set(change.path, change);
    count(change.path, sizeOf(change));
  }

  /** Forgets a file without changes, unless an agent is editing the file. Then reports an update. */
  function updated(path: string, isWritten: boolean, cause: Cause = {}): void {
    const change = files.get(path);
    const isLeft = change && isChanged(change);
    if (change && !isLeft && !edits.agentAt(path)) {
      files.delete(path);
      count(path, 0);
      stored.forget(path);
    }
    const update = { ...cause, path, change: isLeft ? change : undefined, isWritten };
    for (const listener of listeners) listener(update);
  }

  function set(change: FileChange, cause: Cause = {}): void {
    const before = files.get(change.path);
    if (before === change) return;
    put(change);
    stored.save(change);
    const isWritten = cause.wrote !== undefined || (before && before.version !== change.version);
    updated(change.path, isWritten ?? false, cause);
  }

  return {
    on: (listener) => void listeners.push(listener),
    get: (path) => files.get(path),
    all: () => [...files.values()].filter(isChanged),
    known: () => [...files.values()],
    get isEmpty() {
      return files.size === 0;
    },
    set,
    follow(before, now, turn) {
      if (now.version === before.version || (turn && isOwnFile(turn.cli, before.path))) return;
      const after = follow(before, now, turn);
      set(after, { wrote: turn && { turn, before, after } });
    },
    tidy: (path) => updated(path, false),
    begin(path, found, author) {
      const fits = found.kind !== "known" || total + found.text.length <= MAX_TEXT_LENGTH;
      return beginChange(path, fits ? found : { ...unknown(FULL), version: found.version }, author);
    },
    restore(changes) {
      for (const change of changes) {
        put(change);
        updated(change.path, false);
      }
    },
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
