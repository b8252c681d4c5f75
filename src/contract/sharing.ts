/** Defines the files and changes that the model may see (part of CONTRACT 1). */
import * as z from "zod";
import { list } from "./list.ts";

/** The user's settings for the model. Requested before each question. */
export const Consent = z.object({
  /** Whether the user has paused sharing. */
  paused: z.boolean(),
  /** Files that match these patterns are not shared. The syntax is that of a `.gitignore`. */
  exclude: list(z.string()),
  /** Nothing outside these directories is shown or changed. */
  directories: list(z.string()),
});
export type Consent = z.infer<typeof Consent>;

/** Kinds of data whose changes are reported, because the model may have read them. `text` is the text of buffers. */
export const Changed = z.enum(["buffers", "changes", "diagnostics", "quickfix", "selection", "text"]);
