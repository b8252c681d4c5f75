/** Defines calls and events about files that agents have changed (part of CONTRACT 1). */
import * as z from "zod";
import { list } from "./list.ts";

/** A hunk of a change. */
export interface ShownHunk {
  /** Unique in the file. Stays the same until the hunk is edited. */
  id: number;
  /** The first line in the file on disk, 1-based. For a removal, the line above it (0 at the top). */
  line: number;
  /** Number of current lines; 0 for a removal. */
  count: number;
  /** Number of earlier lines. */
  removed: number;
  /** Whether the user has edited the hunk since, so that it cannot be undone. */
  conflict: boolean;
}

/** A file that an agent has changed, until the user keeps that or undoes it. */
export interface ShownChange {
  /** Absolute, without links. */
  path: string;
  status: "modified" | "added" | "deleted";
  /** Number of lines. */
  added: number;
  removed: number;
  hunks: ShownHunk[];
  /** The profile of the CLI that changed the file last. */
  cli: string;
  /** Start of that turn (Unix milliseconds), and its prompt if known. */
  turn: number;
  prompt: string;
  /** The reason why the change cannot be undone, if any. */
  fixed?: string | undefined;
}

/** Files with the chosen hunks. Without `hunks`, the whole file is meant. */
export const ChosenChanges = z.object({
  files: list(z.object({ path: z.string(), hunks: z.array(z.number().int()).optional() })),
  /** Files that were left out because they have unsaved changes here, for the message. */
  unsaved: list(z.string()),
});
export type ChosenChanges = z.infer<typeof ChosenChanges>;

/** Lua -> Node. */
export const changeEvents = {
  /** The user has written a file. Sent while {@link ChangeCalls.changes_follow} is active. */
  file_written: z.object({ path: z.string() }),
  changes_keep: ChosenChanges,
  /** None of the `files` has unsaved changes here. */
  changes_undo: ChosenChanges,
  /** The user wants to see the old lines. Answered by `change_lines`. */
  change_lines_asked: z.object({ path: z.string() }),
  /** The user opened a file that an agent has deleted. Answered by `deleted_text`. */
  deleted_text_asked: z.object({ path: z.string() }),
  /** The user wants the history of these directories. Answered by `history_show` with the same id. */
  history_asked: z.object({ id: z.number().int(), directories: z.array(z.string()) }),
  /** Answered by `history_diff`. */
  history_opened: z.object({ id: z.string() }),
  /** The file has no unsaved changes here. */
  history_taken_back: z.object({ id: z.string() }),
} as const;

/** A proposal or change in the history. */
export interface ShownEntry {
  id: string;
  /** Unix seconds. */
  at: number;
  cli: string;
  /** Start of the turn (Unix milliseconds, 0 without a hook), and its prompt. */
  turn: number;
  prompt: string;
  path: string;
  kind: "proposed" | "accepted" | "edited" | "rejected" | "written";
}

/** Node -> Lua, with the parameters. */
export interface ChangeCalls {
  /** Sets whether `file_written` is sent. */
  changes_follow: { active: boolean };
  /** Shows a new or updated change of a file, or that there is none. `edited`: an agent has just changed the file. */
  change_show: { path: string; change?: ShownChange | undefined; edited: boolean };
  /** Shows the first old lines of each hunk, without line breaks. */
  change_lines: { path: string; hunks: { id: number; lines: string[] }[] };
  /** The text of a deleted file, without line breaks. */
  deleted_text: { path: string; lines: string[] };
  /**
   * A turn with changes without a review has ended. `incomplete`: a sentence that says why there may be more changes.
   */
  turn_changes: {
    cli: string;
    terminal?: string | undefined;
    files: number;
    added: number;
    removed: number;
    incomplete?: string | undefined;
  };
  /** Shows the history, newest first. */
  history_show: { id: number; entries: ShownEntry[] };
  /** Shows both texts of an entry as lines. An empty list stands for a missing file. */
  history_diff: { entry: ShownEntry; before: string[]; after: string[] };
  /** Returns the files of loaded buffers and the open directories, as absolute paths. */
  files_open: Record<string, never>;
}
