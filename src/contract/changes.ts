/** Defines events about files that agents have changed (part of CONTRACT 1). */
import * as z from "zod";
import { list } from "./list.ts";

export type { ShownChange, ShownEntry, ShownHunk } from "./calls.ts";

/** Lines of the file on disk, 1-based and inclusive. */
const Range = z.object({ from: z.number().int().positive(), to: z.number().int().positive() });
export type Range = z.infer<typeof Range>;

/** Files with the chosen hunks. Without `hunks` and `ranges`, the whole file is meant. */
export const ChosenChanges = z.object({
  files: list(
    z.object({
      path: z.string(),
      hunks: z.array(z.number().int()).optional(),
      /**
       * Restricts the choice to these lines. Hunks are split at the edges of a range; lines outside the hunks are
       * ignored.
       */
      ranges: z.array(Range).optional(),
    }),
  ),
  /** Restricts the choice to hunks of the turn that started at this time (Unix milliseconds). */
  turn: z.number().optional(),
  /** Files that Lua has left out because they have unsaved changes. The message to the user names them. */
  unsaved: list(z.string()),
});
export type ChosenChanges = z.infer<typeof ChosenChanges>;

/** Lua -> Node. */
export const changeEvents = {
  /** The user has written a file. Sent while `changes_follow` is active. */
  file_written: z.object({ path: z.string() }),
  changes_keep: ChosenChanges,
  /** None of the `files` has unsaved changes in this Neovim. */
  changes_undo: ChosenChanges,
  /** Reverts the last decision, with all its files. */
  changes_revert: z.unknown(),
  /** The user opens the changes, or has returned to Neovim. Files may have been changed or staged in the meantime. */
  changes_refresh: z.unknown(),
  /** The user wants to see the old lines. Answered by `change_lines`. */
  change_lines_asked: z.object({ path: z.string() }),
  /** The user opened a file that an agent has deleted. Answered by `deleted_text`. */
  deleted_text_asked: z.object({ path: z.string() }),
  /** The user compares a file with its earlier text. Answered by `change_before`. */
  change_before_asked: z.object({ path: z.string() }),
  /** The user wants the history of these directories. Answered by `history_show` with the same id. */
  history_asked: z.object({ id: z.number().int(), directories: z.array(z.string()) }),
  /** Answered by `history_diff`. */
  history_opened: z.object({ id: z.string() }),
  /** Undoes the changes of these entries, newest first. Their files have no unsaved changes in this Neovim. */
  history_undo: z.object({ ids: list(z.string()) }),
} as const;
