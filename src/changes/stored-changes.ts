/**
 * Stores undecided changes, so that they survive a restart of the host process and of Neovim. Stores the text of a file
 * only if the file is shared with agents.
 */
import * as z from "zod";
import { attempt } from "../base/attempt.ts";
import type { Store } from "../store/store.ts";
import { HIDDEN } from "../system/file-state.ts";
import { splitLines } from "./difference/compare-lines.ts";
import type { TrackedText } from "./difference/edits-to-hunks.ts";
import { type FileChange, isChanged } from "./file-change.ts";

/** Maximum age of a stored change. */
const MAX_AGE_MS = 7 * 24 * 60 * 60 * 1_000;

/** Maximum total size of the texts of all stored changes (bytes). More than their length, because hunks are JSON. */
const MAX_SIZE_BYTES = 512 * 1024 * 1024;

export interface StoredChanges {
  /**
   * Stores a change. Removes it instead if nothing is changed, or if the text of the file must not be stored.
   * @returns whether the store has the texts
   */
  save(change: FileChange): boolean;
  forget(path: string): void;
  /** Returns the stored text of a file; undefined if it is missing or damaged. */
  textOf(path: string, lastId: number): TrackedText | undefined;
  /** Yields the stored changes, in the order in which the files were first changed. @param isWanted selects files */
  restore(isWanted: (path: string) => boolean): Iterable<FileChange>;
}

/** Schema of the mode and owner of a file. */
export const StoredMetadata = z.object({ mode: z.number(), uid: z.number(), gid: z.number() });

const author = { cli: z.string(), turn: z.number(), prompt: z.string() };

/** A change record without its texts. */
const Outline = z.object({
  path: z.string(),
  before: z.enum(["absent", "known", "unknown"]),
  reason: z.string().optional(),
  metadata: StoredMetadata.optional(),
  lastMetadata: StoredMetadata.optional(),
  exists: z.boolean(),
  opaque: z.object({ reason: z.string(), by: z.enum(["agent", "user"]) }).optional(),
  version: z.string(),
  touched: z.boolean(),
  ...author,
  staged: z.string().optional(),
  together: z.string().optional(),
  decided: z.number(),
  earlier: z.array(z.object(author)),
  lastId: z.number(),
});

const place = {
  id: z.number(),
  line: z.number(),
  count: z.number(),
  conflict: z.boolean(),
  turn: z.number(),
  old: z.array(z.string()),
};

/** The hunks of a change record. `edited`: see `Piece` in edits-to-hunks.ts. */
const Hunks = z.array(
  z.object({
    ...place,
    edited: z.object({ lines: z.array(z.string()), hunks: z.array(z.object(place)) }).optional(),
  }),
);

/** @param mayStore returns whether the text of a file may be stored */
export function createStoredChanges(store: Store, mayStore: (path: string) => boolean): StoredChanges {
  const list = store.list({
    name: "changes",
    schema: Outline,
    maxAge: MAX_AGE_MS,
    maxSize: MAX_SIZE_BYTES,
  });

  function textOf(path: string, lastId: number): TrackedText | undefined {
    const texts = list.texts(path);
    const hunks = attempt(() => Hunks.parse(JSON.parse(texts?.["hunks"] ?? "")));
    return hunks && { lines: splitLines(texts?.["lines"] ?? ""), hunks, lastId };
  }

  return {
    save(change) {
      // Ignore files in an unreadable folder are unknown. The stored record describes the last state that was seen.
      if (change.version === HIDDEN) return false;
      const isStored = isChanged(change) && mayStore(change.path);
      // Without the session, which may have ended: after a restart, the next agent of the CLI is told about an undo.
      const { text, session: _, ...rest } = change;
      if (!isStored) list.delete(change.path);
      else {
        const earlier = rest.earlier.map(({ cli, turn, prompt }) => ({ cli, turn, prompt }));
        const texts = { lines: text.lines.join(""), hunks: JSON.stringify(text.hunks) };
        list.set(change.path, { ...rest, earlier, lastId: text.lastId }, texts);
      }
      return isStored;
    },
    forget: list.delete,
    textOf,
    *restore(isWanted) {
      for (const { key, value } of list.entries()) {
        if (!isWanted(key)) continue;
        const { lastId, ...outline } = value;
        const text = textOf(key, lastId);
        if (text) yield { ...outline, text };
        else list.delete(key);
      }
    },
  };
}
