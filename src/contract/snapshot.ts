/** What the host is told of the editor for the context: a part of CONTRACT 1. */
import * as z from "zod";
import { list } from "./list.ts";

/** What the user has said about sharing. */
const Sharing = z.object({
  /** Nothing is shared until the user resumes. */
  paused: z.boolean(),
  /** Patterns of files that are not shared, as in a `.gitignore`. */
  exclude: list(z.string()),
  /** The user's word on the workspace's trust; without one the CLI's own decides. */
  trusted: z.boolean().optional(),
});

/** What changed in the editor since the last snapshot. */
export const Snapshot = z.object({
  /** The snapshot is the first of a subscription: forget what earlier ones said. */
  reset: z.boolean(),
  /** The first list of buffers comes in slices, so that reading it never blocks the editor: another one follows. */
  more: z.boolean(),
  /** With the first snapshot and when it has changed. */
  sharing: Sharing.optional(),
  /** Buffers that were added, renamed, written or removed. `path` is absolute; without one the buffer is no candidate. */
  buffers: list(z.object({ bufnr: z.number().int(), path: z.string().optional() })),
  /** When buffers had the focus last. `time` is Unix milliseconds and rises with each change of focus. */
  focus: list(z.object({ bufnr: z.number().int(), time: z.number() })),
  /** The ordinary file buffer that had the focus last. Line and character are 1-based, the character in UTF-16 units. */
  active: z
    .object({
      bufnr: z.number().int(),
      line: z.number().int().positive(),
      character: z.number().int().positive(),
      /** The beginning of what is selected: all of it, or more than `maxSelection` UTF-16 units. */
      selection: z.string().optional(),
    })
    .optional(),
});
export type Snapshot = z.infer<typeof Snapshot>;
