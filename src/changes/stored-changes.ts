/**
 * Stores undecided changes, so that they survive a restart of the host process and of Neovim. Stores the text of a file
 * only if the file is shared with agents.
 */
import * as z from "zod";
import { attempt } from "../base/attempt.ts";
import type { Store } from "../store/store.ts";
import { HIDDEN } from "../system/file-state.ts";
import { splitLines } from "./difference/compare-lines.ts";
import { type FileChange, isChanged } from "./file-change.ts";

/** Maximum age of a stored change. */
const MAX_AGE_MS = 7 * 24 * 60 * 60 * 1_000;

/** Maximum total size of the texts of all stored changes (bytes). */
const MAX_SIZE_BYTES = 256 * 1024 * 1024;

export interface StoredChanges {
  /** Stores a change. Removes it instead if nothing is changed, or if the text of the file must not be stored. */
  save(change: FileChange): void;
  forget(path: string): void;
  /** Returns the stored changes, in the order in which the files were first changed. */
  restore(): FileChange[];
}

/** Schema of the mode and owner of a file. */
export const StoredMetadata = z.object({ mode: z.number(), uid: z.number(), gid: z.number() });

const author = { cli: z.string(), turn: z.number(), prompt: z.string(), session: z.string().optional() };

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

  return {
    save(change) {
      // Ignore files in an unreadable folder are unknown. The stored record describes the last state that was seen.
      if (change.version === HIDDEN) return;
      if (!isChanged(change) || !mayStore(change.path)) return list.delete(change.path);
      const { text, ...rest } = change;
      const texts = { lines: text.lines.join(""), hunks: JSON.stringify(text.hunks) };
      list.set(change.path, { ...rest, earlier: [...rest.earlier], lastId: text.lastId }, texts);
    },
    forget: list.delete,
    restore: () =>
      list.entries().flatMap(({ key, value: { lastId, ...rest } }) => {
        const texts = list.texts(key);
        const hunks = attempt(() => Hunks.parse(JSON.parse(texts?.["hunks"] ?? "")));
        if (hunks) return [{ ...rest, text: { lines: splitLines(texts?.["lines"] ?? ""), hunks, lastId } }];
        list.delete(key);
        return [];
      }),
  };
}
