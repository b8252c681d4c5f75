/** What is told of the model's view before it asks anything: a part of CONTRACT 1. */
import * as z from "zod";
import { list } from "./list.ts";

/** What the user lets the model see: answered at once, before each question. */
export const Consent = z.object({
  /** The user has paused sharing. */
  paused: z.boolean(),
  /** Patterns of files that are not shared, as in a `.gitignore`. */
  exclude: list(z.string()),
  /** Outside of these nothing is shown or changed. */
  directories: list(z.string()),
});
export type Consent = z.infer<typeof Consent>;

/** What the model may have seen, and reads differently now; `text` is that of buffers. */
export const Changed = z.enum(["buffers", "changes", "diagnostics", "quickfix", "selection", "text"]);
