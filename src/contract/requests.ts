/**
 * Defines the requests from Lua to Node (part of CONTRACT 1), which are sent as an event `request`. The requests from
 * Node to Lua are in questions.ts.
 */
import * as z from "zod";
import { ChosenChanges } from "./changes.ts";
import { list } from "./list.ts";

/** An entry of the history: a proposal, or a change without a review. */
export const ShownEntry = z.object({
  id: z.string(),
  at: z.number().describe("Unix seconds."),
  cli: z.string().describe("Name of the profile."),
  turn: z.number().describe("Start of the turn (Unix milliseconds); 0 without a hook."),
  prompt: z.string(),
  path: z.string(),
  kind: z.enum(["proposed", "accepted", "edited", "rejected", "written"]),
});
export type ShownEntry = z.infer<typeof ShownEntry>;

/** The editors that a CLI finds if the user starts the CLI outside Neovim, in Neovim's current directory. */
export const Editors = z.object({
  count: z.int(),
  pid: z.int().describe("Process of the editor that the CLI chooses."),
  isOwn: z.boolean().describe("Whether the CLI chooses this Neovim."),
});
export type Editors = z.infer<typeof Editors>;

/** Result of a decision. Has no `path` if nothing was decided. */
export const Decided = z.object({
  path: z.string().optional().describe("The first file of the decision."),
  hunk: z.number().optional().describe("Id of the first hunk in this file that is undecided again."),
});
export type Decided = z.infer<typeof Decided>;

const lines = z.array(z.string()).describe("Lines without line breaks.");

export const requests = {
  /** Keeps changes. Answers when all files are decided. */
  changes_keep: { params: ChosenChanges, result: Decided },
  /** Undoes changes. None of the files has unsaved changes in this Neovim. Answers when all files are decided. */
  changes_undo: { params: ChosenChanges, result: Decided },
  /** Takes back the user's last decision (keep or undo), for all files of this decision. */
  changes_revert: { params: z.unknown(), result: Decided },
  /** Returns the editors that a CLI finds in a directory; nothing if a CLI finds no editor. */
  editors: { params: z.object({ cwd: z.string() }), result: Editors.optional() },
  /** Returns the complete text of a file before its undecided changes. Fails if the file has none. */
  earlier_text: {
    params: z.object({ path: z.string() }),
    result: z.object({
      lines,
      problem: z.string().optional().describe("Reason why the text cannot be compared with the file."),
    }),
  },
  /** Returns the history of these directories, newest entry first. */
  history: { params: z.object({ directories: list(z.string()) }), result: z.array(ShownEntry) },
  /** Returns the texts before and after an entry of the history. Fails if the texts are not known. */
  history_texts: {
    params: z.object({ id: z.string() }),
    result: z.object({ before: lines, after: lines }),
  },
  /**
   * Undoes the changes of these entries of the history, newest first. Their files have no unsaved changes in this
   * Neovim. Answers with the ids of the entries that were undone.
   */
  history_undo: { params: z.object({ ids: list(z.string()) }), result: z.array(z.string()) },
} as const;

export type RequestName = keyof typeof requests;
export type RequestParams<N extends RequestName> = z.infer<(typeof requests)[N]["params"]>;
export type RequestResult<N extends RequestName> = z.infer<(typeof requests)[N]["result"]>;
