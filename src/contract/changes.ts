/** Defines events about files that agents have changed (part of CONTRACT 1). */
import * as z from "zod";
import { list } from "./list.ts";

export type { ShownChange, ShownHunk } from "./calls.ts";

/** Lines of the file on disk, 1-based and inclusive. */
const Range = z.object({ from: z.number().int().positive(), to: z.number().int().positive() });
export type Range = z.infer<typeof Range>;

/** The files and hunks that the user has chosen. Without `hunks` and `range`, the whole file is chosen. */
export const ChosenChanges = z.object({
  files: list(
    z.object({
      path: z.string(),
      hunks: z.array(z.number().int()).optional(),
      /** Restricts the choice to these lines. Hunks are split at the edges; lines outside the hunks are ignored. */
      range: Range.optional(),
    }),
  ),
  /** Restricts the choice to hunks of the turn that started at this time (Unix milliseconds). */
  turn: z.number().optional(),
  /** Files that Lua has left out because they have unsaved changes. The message to the user names them. */
  unsaved: list(z.string()),
});
export type ChosenChanges = z.infer<typeof ChosenChanges>;

/** Events from Lua to Node. */
export const changeEvents = {
  /** Reports that the user has written a file. Sent only while the call `changes_follow` has turned this event on. */
  file_written: z.object({ path: z.string() }),
  /**
   * Reports that Neovim has read or reloaded a file. Sent in the same cases as `file_written`. `version`: see
   * lua/gemini-bridge/disk/path.lua.
   */
  file_read: z.object({ path: z.string(), version: z.string() }),
  /**
   * The user opens the list of changes, or has returned to Neovim. Files may have been changed or staged in the
   * meantime.
   */
  changes_refresh: z.unknown(),
} as const;
