/** What Lua is told of files that agents have changed, and what it asks of them: a part of CONTRACT 1. */
import * as z from "zod";
import { list } from "./list.ts";

/** Lines that stand where others stood before an agent came. */
export interface ShownHunk {
  /** Among those of the file; stays the same until somebody edits the hunk. */
  id: number;
  /** The first line, 1-based, in the file on disk; of a removal the line above it (0 at the top). */
  line: number;
  /** Lines now; 0 for a removal. */
  count: number;
  /** Lines before. */
  removed: number;
  /** The user has edited it since, so that it cannot be undone. */
  conflict: boolean;
}

/** A file that an agent has changed, until the user keeps that or undoes it. */
export interface ShownChange {
  /** Absolute, without links. */
  path: string;
  status: "modified" | "added" | "deleted";
  /** Lines. */
  added: number;
  removed: number;
  hunks: ShownHunk[];
  /** The profile of the CLI that changed it last, and the prompt that made it do so, as far as known. */
  cli: string;
  /** When that turn began (Unix milliseconds). */
  turn: number;
  prompt: string;
  /** Why it cannot be undone. */
  fixed?: string | undefined;
}

/** Files, and of each the hunks that are meant; without them the whole file. */
export const ChosenChanges = z.object({
  files: list(z.object({ path: z.string(), hunks: z.array(z.number().int()).optional() })),
  /** Files that were left out because they have unsaved changes here, for the message. */
  unsaved: list(z.string()),
});
export type ChosenChanges = z.infer<typeof ChosenChanges>;

/** Lua -> Node. */
export const changeEvents = {
  /** The user has written a file, while {@link ChangeCalls.changes_follow} asks for that. */
  file_written: z.object({ path: z.string() }),
  changes_keep: ChosenChanges,
  /** None of the `files` has unsaved changes here. */
  changes_undo: ChosenChanges,
  /** The user wants to see what stood there before: answered by `change_lines`. */
  change_lines_asked: z.object({ path: z.string() }),
  /** The user looks at a file that an agent has deleted: answered by `deleted_text`. */
  deleted_text_asked: z.object({ path: z.string() }),
  /** Answered by `history_show` with the same id, and what happened below these directories. */
  history_asked: z.object({ id: z.number().int(), directories: z.array(z.string()) }),
  /** Answered by `history_diff`. */
  history_opened: z.object({ id: z.string() }),
  /** The file has no unsaved changes here. */
  history_taken_back: z.object({ id: z.string() }),
} as const;

/** Something that was proposed or written. */
export interface ShownEntry {
  id: string;
  /** Unix seconds. */
  at: number;
  cli: string;
  /** When its turn began (Unix milliseconds; 0 where no hook has told of it), and with which prompt. */
  turn: number;
  prompt: string;
  path: string;
  kind: "proposed" | "accepted" | "edited" | "rejected" | "written";
}

/** Node -> Lua, with the parameters. */
export interface ChangeCalls {
  /** Whether files that the user writes are to be told. */
  changes_follow: { active: boolean };
  /** The change of this file is another one, or there is none any more. `edited`: an agent has just made it so. */
  change_show: { path: string; change?: ShownChange | undefined; edited: boolean };
  /** What stood in the place of each hunk, as text without line breaks; the first lines of it. */
  change_lines: { path: string; hunks: { id: number; lines: string[] }[] };
  /** The text of a deleted file, without line breaks. */
  deleted_text: { path: string; lines: string[] };
  /** A turn has ended in which the agent changed files without a review. */
  turn_changes: { cli: string; terminal?: string | undefined; files: number; added: number; removed: number };
  /** The newest first. */
  history_show: { id: number; entries: ShownEntry[] };
  /** Both texts of an entry, without line breaks; nothing for no file. */
  history_diff: { entry: ShownEntry; before: string[]; after: string[] };
  /** Answers the files of loaded buffers, and the open directories; absolute. */
  files_open: Record<string, never>;
}
