/** Defines the files and changes that CLIs and their models may see (part of CONTRACT 1). */
import * as z from "zod";
import { list } from "./list.ts";

/** The user's settings for sharing. */
export const Sharing = z.object({
  /** Whether nothing may be shared: the user has paused sharing, or has not allowed it yet. */
  paused: z.boolean(),
  /** Files that match these patterns are not shared. The syntax is that of a `.gitignore`. */
  exclude: list(z.string()),
});

/** The user's settings that limit what the model may see and change. The host asks for them before each use. */
export const Consent = Sharing.extend({
  /** The model can see and change only files inside these directories. */
  directories: list(z.string()),
});
export type Consent = z.infer<typeof Consent>;

/**
 * Kinds of data that the model can read. Lua reports changes of these data to the host. `text` is the text of buffers.
 */
export const Changed = z.enum(["buffers", "changes", "diagnostics", "quickfix", "selection", "text"]);
