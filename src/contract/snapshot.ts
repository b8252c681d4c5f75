/**
 * Defines the snapshots of the editor from which the context for CLIs is made (part of CONTRACT 1).
 * lua/gemini-bridge/context/snapshot.lua takes them. src/context/context.ts turns them into notifications, whose format
 * is in companion.ts.
 */
import * as z from "zod";
import { list } from "./list.ts";
import { Sharing } from "./sharing.ts";

const Position = z.object({ line: z.number().int().positive(), character: z.number().int().positive() });

/** Range of the selected text. `end` is exclusive. Positions are 1-based, with `character` in UTF-16 units. */
const SelectedRange = z.object({ start: Position, end: Position });
export type SelectedRange = z.infer<typeof SelectedRange>;

/** The changes in the editor since the last snapshot. */
export const Snapshot = z.object({
  /** Whether this is the first snapshot of a subscription. The first snapshot replaces all earlier data. */
  reset: z.boolean(),
  /**
   * Whether the list of buffers continues in the next snapshot. Lua sends the first list in parts, so that the editor
   * is not blocked.
   */
  more: z.boolean(),
  /**
   * The sharing settings. Set in the first snapshot, and after each change of these settings. `trusted`: value of the
   * option `trust`. Without a value, the CLI's own folder trust decides.
   */
  sharing: Sharing.extend({ trusted: z.boolean().optional() }).optional(),
  /**
   * Buffers that were added, renamed, written or removed. `path` is absolute; it is missing if the buffer has no file.
   */
  buffers: list(z.object({ bufnr: z.number().int(), path: z.string().optional() })),
  /** Time of the last focus of each buffer (Unix milliseconds). A later focus has a greater time. */
  focus: list(z.object({ bufnr: z.number().int(), time: z.number() })),
  /** The file buffer that was focused last, and its cursor position: 1-based, with `character` in UTF-16 units. */
  active: z
    .object({
      bufnr: z.number().int(),
      line: z.number().int().positive(),
      character: z.number().int().positive(),
      /** The selected text, or its beginning if it is longer than `maxSelection` UTF-16 units. */
      selection: z.string().optional(),
      /** Range of the selected text. For a blockwise selection, the range covers all lines of the block. */
      selected: SelectedRange.optional(),
    })
    .optional(),
});
export type Snapshot = z.infer<typeof Snapshot>;
