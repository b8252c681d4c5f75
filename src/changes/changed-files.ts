/**
 * Keeps one record for each file that agents change, and reports each update of a record to the listeners. The texts of
 * a long list are only in the store.
 */
import type { Author, Turn } from "../contract/turns.ts";
import { type FileState, unknown } from "../system/file-state.ts";
import type { EditsInProgress } from "./edits-in-progress.ts";
import { beginChange, type FileChange, follow, isChanged, lengthOf, withoutEarlier } from "./file-change.ts";
import type { StoredChanges } from "./stored-changes.ts";

/** Maximum total length of all texts (characters). Beyond this limit, the texts of further files are not kept. */
const MAX_TEXT_LENGTH = 256 * 1024 * 1024;
/** Maximum total length of the texts in memory, except texts that must not be stored (characters). */
const MAX_LENGTH_IN_MEMORY = 16 * 1024 * 1024;
const FULL = "too many other changes are unreviewed; after you keep some, later changes can be undone";

/** A record without its texts. */
export type Outline = Omit<FileChange, "text">;

interface Entry {
  readonly outline: Outline;
  readonly lastId: number;
  /** The complete record; undefined if only the store has its texts. */
  readonly change: FileChange | undefined;
  /** Length of the texts (characters). */
  readonly length: number;
  readonly isChanged: boolean;
}

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
  /** Returns the record of a file. If its texts were lost in the store, its earlier bytes are unknown. */
  get(path: string): FileChange | undefined;
  /** Like `get`, without the cost of reading the texts. */
  outline(path: string): Outline | undefined;
  /** Returns the changed files, in the order of their first change. */
  all(): Outline[];
  /** Returns the changed files, and the files that an agent may be about to change. */
  known(): Outline[];
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
  /** Adds a stored record, for example after a restart of the host process. */
  restore(change: FileChange): void;
}

interface ChangedFilesOptions {
  stored: StoredChanges;
  edits: Pick<EditsInProgress, "agentAt">;
  /** Returns whether a CLI has written this file for itself, outside the user's project. */
  isOwnFile(cli: string, path: string): boolean;
}

export function createChangedFiles({ stored, edits, isOwnFile }: ChangedFilesOptions): ChangedFiles {
  const files = new Map<string, Entry>();
  const listeners: ((update: Update) => void)[] = [];
  /** Total length of all texts, and of those in memory (characters). */
  const total = { all: 0, inMemory: 0 };

  function count({ length, change }: Entry, sign: 1 | -1): void {
    total.all += sign * length;
    if (change) total.inMemory += sign * length;
  }

  function put(change: FileChange, isStored: boolean): void {
    const { text, ...outline } = change;
    const earlier = files.get(change.path);
    if (earlier) count(earlier, -1);
    const length = lengthOf(change);
    const isLeft = isStored && total.inMemory + length > MAX_LENGTH_IN_MEMORY;
    const entry = {
      outline,
      lastId: text.lastId,
      change: isLeft ? undefined : change,
      length,
      isChanged: isChanged(change),
    };
    files.set(change.path, entry);
    count(entry, 1);
  }

  function get(path: string): FileChange | undefined {
    const entry = files.get(path);
    if (!entry || entry.change) return entry?.change;
    const text = stored.textOf(path, entry.lastId);
    return text ? { ...entry.outline, text } : withoutEarlier(entry.outline);
  }

  /**
   * Forgets a file without changes, unless an agent is editing the file. Then reports an update.
   * @param change the record of the file
   */
  function updated(
    path: string,
    isWritten: boolean,
    cause: Cause = {},
    change: FileChange | undefined = get(path),
  ): void {
    const entry = files.get(path);
    if (entry && !entry.isChanged && !edits.agentAt(path)) {
      files.delete(path);
      count(entry, -1);
      stored.forget(path);
    }
    const update = { ...cause, path, change: entry?.isChanged ? change : undefined, isWritten };
    for (const listener of listeners) listener(update);
  }

  function set(change: FileChange, cause: Cause = {}): void {
    const before = files.get(change.path);
    if (before?.change === change) return;
    put(change, stored.save(change));
    const isOther = before !== undefined && before.outline.version !== change.version;
    updated(change.path, cause.wrote !== undefined || isOther, cause, change);
  }

  return {
    on: (listener) => void listeners.push(listener),
    get,
    outline: (path) => files.get(path)?.outline,
    all: () => [...files.values()].filter((entry) => entry.isChanged).map(({ outline }) => outline),
    known: () => [...files.values()].map(({ outline }) => outline),
    get isEmpty() {
      return files.size === 0;
    },
    set,
    follow(before, now, turn) {
      if (now.version === before.version || (turn && isOwnFile(turn.cli, before.path))) return;
      const after = follow(before, now, turn);
      // Nothing is known while the folder of a file cannot be read. The stored record must then stay.
      if (after !== before) set(after, { wrote: turn && { turn, before, after } });
    },
    tidy: (path) => updated(path, false),
    begin(path, found, author) {
      const fits = found.kind !== "known" || total.all + found.text.length <= MAX_TEXT_LENGTH;
      return beginChange(path, fits ? found : { ...unknown(FULL), version: found.version }, author);
    },
    restore(change) {
      put(change, true);
      updated(change.path, false, {}, change);
    },
  };
}
