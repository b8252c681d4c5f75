/**
 * Defines the editor's snapshots for the context (part of CONTRACT 1). Lua takes them in context/snapshot.lua, and
 * src/context/context.ts turns them into notifications, which companion.ts defines.
 */
import * as z from "zod";
import { list } from "./list.ts";

/** The user's settings for sharing. */
const Sharing = z.object({
  /** Whether sharing is paused. */
  paused: z.boolean(),
  /** Patterns of files that are not shared, as in a `.gitignore`. */
  exclude: list(z.string()),
  /** Value of the option `trust`. Without it, the CLI's own folder trust decides. */
  trusted: z.boolean().optional(),
});

const Position = z.object({ line: z.number().int().positive(), character: z.number().int().positive() });

/** Start and exclusive end of a selected text: 1-based, characters in UTF-16 units. */
const SelectedRange = z.object({ start: Position, end: Position });
export type SelectedRange = z.infer<typeof SelectedRange>;

/** The changes in the editor since the last snapshot. */
export const Snapshot = z.object({
  /** Whether this is the first snapshot of a subscription, so that earlier data is invalid. */
  reset: z.boolean(),
  /** Whether another slice of the first list of buffers follows. Slices avoid blocking the editor. */
  more: z.boolean(),
  /** Set in the first snapshot and after changes. */
  sharing: Sharing.optional(),
  /** Buffers that were added, renamed, written or removed. `path` is absolute; without it, the buffer is not a file. */
  buffers: list(z.object({ bufnr: z.number().int(), path: z.string().optional() })),
  /** Last focus of buffers. `time` is Unix milliseconds and increases with each change of focus. */
  focus: list(z.object({ bufnr: z.number().int(), time: z.number() })),
  /** The file buffer that was focused last. Line and character are 1-based, the character in UTF-16 units. */
  active: z
    .object({
      bufnr: z.number().int(),
      line: z.number().int().positive(),
      character: z.number().int().positive(),
      /** The selected text, or its beginning if it is longer than `maxSelection` UTF-16 units. */
      selection: z.string().optional(),
      /** The range of that text; for a blockwise selection, from its first to its last line. */
      selected: SelectedRange.optional(),
    })
    .optional(),
});
export type Snapshot = z.infer<typeof Snapshot>;
