/** What agents did to one file since the user last agreed: its text, hunk by hunk, and whether it came or went. */
import type { ShownChange } from "../contract/changes.ts";
import type { DiskFile } from "./disk-file.ts";
import { splitLines } from "./lines.ts";
import {
  editedByAgent,
  editedByUser,
  keep,
  linesBefore,
  reference,
  type TrackedText,
  trackText,
  undo,
} from "./tracked-text.ts";

export interface FileChange {
  /** Absolute, without links. */
  readonly path: string;
  /** Whether there was a file before the first change. */
  readonly existed: boolean;
  readonly exists: boolean;
  /** Permission bits, of when there was a file last. */
  readonly mode?: number | undefined;
  readonly text: TrackedText;
  /** What is known of the disk. */
  readonly version: string;
  /** Why nothing can be undone, where the text from before is not known. What changed is not known then either, */
  readonly fixed?: string | undefined;
  /** only that an agent has written it. */
  readonly touched: boolean;
  /** Whose the last change was: a profile, when its turn began (Unix milliseconds), and with which prompt. */
  readonly cli: string;
  readonly turn: number;
  readonly prompt: string;
}

export type Author = Pick<FileChange, "cli" | "turn" | "prompt">;

/** A file as it is before an agent may change it. */
export function beginChange(path: string, found: DiskFile, author: Author, fixed = unfit(found)): FileChange {
  return {
    path,
    existed: found.kind !== "absent",
    exists: found.kind !== "absent",
    mode: found.mode,
    text: trackText(fixed === undefined ? splitLines(found.text ?? "") : []),
    version: found.version,
    fixed,
    touched: false,
    ...author,
  };
}

function unfit({ kind }: DiskFile): string | undefined {
  if (kind === "long") return "the file is too long";
  if (kind === "unknown") return "its bytes from before are not known";
  return kind === "other" ? "it is no regular file that can be read" : undefined;
}

/** Takes in what the disk holds by now. @param author the agent that made it so; without one it was the user */
export function follow(change: FileChange, found: DiskFile, author?: Author): FileChange {
  const exists = found.kind !== "absent";
  const fixed = change.fixed ?? unfit(found);
  const next = {
    ...change,
    exists,
    fixed,
    mode: found.mode ?? change.mode,
    version: found.version,
    ...author,
  };
  const touched = change.touched || found.version !== change.version;
  if (fixed !== undefined)
    return { ...next, touched: author ? touched : change.touched, text: trackText([]) };
  const lines = splitLines(found.text ?? "");
  if (author) return { ...next, touched, text: editedByAgent(change.text, lines) };
  // What the user deletes, or writes anew, has nothing of the agent's any more.
  if (exists !== change.exists) return beginChange(change.path, found, authorOf(change));
  return { ...next, text: editedByUser(change.text, lines) };
}

function authorOf({ cli, turn, prompt }: Author): Author {
  return { cli, turn, prompt };
}

export function isChanged({ existed, exists, text, fixed, touched }: FileChange): boolean {
  return existed !== exists || (fixed === undefined ? text.hunks.length > 0 : touched);
}

/** @param ids of hunks; without them the whole file */
export function kept(change: FileChange, ids?: ReadonlySet<number>): FileChange {
  const text = keep(change.text, ids ?? allOf(change.text));
  return text.hunks.length > 0
    ? { ...change, text }
    : { ...change, text, existed: change.exists, touched: false };
}

/**
 * What the disk is to hold when these hunks are undone.
 * @param ids of hunks; without them the whole file
 */
export function undone(change: FileChange, ids = allOf(change.text)): FileChange {
  const { hunks } = change.text;
  const { lines, ...rest } = undo(change.text, ids);
  const text = { ...rest, lines: apart(lines) };
  const isAny = hunks.length + ids.size === 0 || hunks.some(({ id, conflict }) => ids.has(id) && !conflict);
  const isBack = isAny && text.hunks.length === 0;
  // What somebody has added to a file of the agent's stays, and so does the file.
  const exists = isBack && !change.existed ? text.lines.length > 0 : change.exists || isAny;
  return { ...change, text, exists, existed: isBack ? exists : change.existed };
}

/** What was the last line, without a line break, is not any more when the user has written below it. */
function apart(lines: readonly string[]): string[] {
  const lineBreak = lines.some((line) => line.endsWith("\r\n")) ? "\r\n" : "\n";
  return lines.map((line, i) => (i === lines.length - 1 || line.endsWith("\n") ? line : line + lineBreak));
}

function allOf({ hunks }: TrackedText): Set<number> {
  return new Set(hunks.map(({ id }) => id));
}

export function textOf({ exists, text }: FileChange): string | undefined {
  return exists ? text.lines.join("") : undefined;
}

export function shown(change: FileChange): ShownChange {
  const { path, existed, exists, cli, turn, prompt, fixed, text } = change;
  const isAdded = !existed && exists && reference(text).length === 0;
  return {
    path,
    status: !exists ? "deleted" : isAdded ? "added" : "modified",
    added: text.hunks.reduce((sum, { count }) => sum + count, 0),
    removed: text.hunks.reduce((sum, hunk) => sum + linesBefore(hunk).length, 0),
    hunks: text.hunks.map((hunk) => ({
      id: hunk.id,
      line: hunk.count > 0 ? hunk.line + 1 : hunk.line,
      count: hunk.count,
      removed: linesBefore(hunk).length,
      conflict: hunk.conflict,
    })),
    cli,
    turn,
    prompt,
    fixed,
  };
}
