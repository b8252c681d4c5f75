/** What agents did to one file since the user last agreed: its text, hunk by hunk, and whether it came or went. */
import { isDeepStrictEqual } from "node:util";
import type { ShownChange } from "../contract/changes.ts";
import type { Metadata, Sighting } from "../system/sighting.ts";
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

/** Something is on disk whose text is not known. */
export interface Opaque {
  /** The end of a sentence. */
  readonly reason: string;
  /** `user`: not all of it is an agent's doing. */
  readonly by: "agent" | "user";
}

export interface FileChange {
  /** Absolute, without links. */
  readonly path: string;
  /** What was there before the first change. */
  readonly before: Sighting["kind"];
  /** Why that is unknown. */
  readonly reason?: string | undefined;
  /** What a file had beside its bytes before agents changed that. */
  readonly metadata?: Metadata | undefined;
  /** What it had when it was last seen. */
  readonly lastMetadata?: Metadata | undefined;
  /** Whether there is a file now. */
  readonly exists: boolean;
  /** The last text that is known, with what undo puts back. */
  readonly text: TrackedText;
  /** What is there instead of that text. */
  readonly opaque?: Opaque | undefined;
  /** What is known of the disk. */
  readonly version: string;
  /** An agent has written the file; where `before` is unknown, that is all that is known. */
  readonly touched: boolean;
  /** Whose the last change was: a profile, when its turn began (Unix milliseconds), and with which prompt. */
  readonly cli: string;
  readonly turn: number;
  readonly prompt: string;
}

export type Author = Pick<FileChange, "cli" | "turn" | "prompt">;

/** A file as it is before an agent may change it. */
export function beginChange(path: string, found: Sighting, author: Author): FileChange {
  return {
    path,
    before: found.kind,
    reason: found.kind === "unknown" ? found.reason : undefined,
    metadata: found.metadata,
    lastMetadata: found.metadata,
    exists: found.kind !== "absent",
    text: trackText(found.kind === "known" ? splitLines(found.text) : []),
    version: found.version,
    touched: false,
    ...authorOf(author),
  };
}

/** Takes in what the disk holds by now. @param author the agent that made it so; without one it was the user */
export function follow(change: FileChange, found: Sighting, author?: Author): FileChange {
  return author ? wroteByAgent(change, found, author) : wroteByUser(change, found);
}

function wroteByAgent(change: FileChange, found: Sighting, author: Author): FileChange {
  const { version } = found;
  const exists = found.kind !== "absent";
  const touched = change.touched || version !== change.version;
  const { metadata: lastMetadata = change.lastMetadata } = found;
  const next = { ...change, ...authorOf(author), exists, version, touched, lastMetadata };
  if (change.before === "unknown") return next;
  if (found.kind === "unknown")
    return { ...next, opaque: change.opaque ?? { reason: found.reason, by: "agent" } };
  if (change.opaque?.by === "user") return forgotten(next, NOT_KNOWN);
  return { ...next, opaque: undefined, text: editedByAgent(change.text, linesOf(found)) };
}

function wroteByUser(change: FileChange, found: Sighting): FileChange {
  const { version } = found;
  const exists = found.kind !== "absent";
  if (change.before === "unknown") return { ...change, exists, version };
  if (found.kind === "unknown")
    return { ...change, exists, version, opaque: { reason: found.reason, by: "user" } };
  // It could not be read for a moment.
  if (change.opaque && exists && found.text === textOf(change))
    return { ...change, version, opaque: undefined };
  // What the user deletes, or writes anew, has nothing of the agent's any more.
  if (exists !== change.exists || change.opaque?.by === "agent")
    return beginChange(change.path, found, authorOf(change));
  const { metadata: lastMetadata = change.lastMetadata } = found;
  // The user may have saved a file whose mode an agent has changed.
  const metadata = isDeepStrictEqual(lastMetadata, change.lastMetadata) ? change.metadata : lastMetadata;
  const text = editedByUser(change.text, linesOf(found));
  return { ...change, version, metadata, lastMetadata, opaque: undefined, text };
}

function forgotten(change: FileChange, reason: string): FileChange {
  return { ...change, before: "unknown", reason, opaque: undefined, text: trackText([]) };
}

export const NOT_KNOWN = "its bytes from before are not known";

function linesOf(found: Sighting): string[] {
  return splitLines(found.kind === "known" ? found.text : "");
}

function authorOf({ cli, turn, prompt }: Author): Author {
  return { cli, turn, prompt };
}

export function isChanged({ before, exists, text, opaque, touched }: FileChange): boolean {
  if (before === "unknown") return touched;
  return exists !== (before === "known") || opaque?.by === "agent" || text.hunks.length > 0;
}

/** Why nothing can be undone. */
export function obstacle({ before, reason, opaque }: FileChange): string | undefined {
  if (before === "unknown") return reason;
  return opaque?.by === "user" ? opaque.reason : undefined;
}

/** @param ids of hunks; without them the whole file */
export function kept(change: FileChange, ids?: ReadonlySet<number>): FileChange {
  const { before, opaque } = change;
  if (before === "unknown") return { ...change, touched: false };
  const text = keep(change.text, ids ?? allOf(change.text));
  if (opaque) return ids ? change : { ...forgotten(change, opaque.reason), touched: false };
  return text.hunks.length > 0
    ? { ...change, text }
    : {
        ...change,
        text,
        before: change.exists ? "known" : "absent",
        metadata: change.lastMetadata,
        touched: false,
      };
}

/**
 * What the disk is to hold when these hunks are undone.
 * @param ids of hunks; without them the whole file
 */
export function undone(change: FileChange, ids?: ReadonlySet<number>): FileChange {
  if (change.opaque) return undone(withoutText(change));
  const chosen = ids ?? allOf(change.text);
  const { hunks } = change.text;
  const { lines, ...rest } = undo(change.text, chosen);
  const text = { ...rest, lines: apart(lines) };
  const isAny =
    hunks.length + chosen.size === 0 || hunks.some(({ id, conflict }) => chosen.has(id) && !conflict);
  const isBack = isAny && text.hunks.length === 0;
  // What somebody has added to a file of the agent's stays, and so does the file.
  const exists = isBack && change.before === "absent" ? text.lines.length > 0 : change.exists || isAny;
  return { ...change, text, exists, before: isBack ? (exists ? "known" : "absent") : change.before };
}

/** What the agent made of the file counts as nothing: all that was there comes back. */
function withoutText({ opaque: _, ...change }: FileChange): FileChange {
  return change.before === "absent"
    ? { ...change, text: trackText([]) }
    : { ...change, exists: false, text: editedByAgent(change.text, []) };
}

/** What was the last line, without a line break, is not any more when the user has written below it. */
function apart(lines: readonly string[]): string[] {
  const lineBreak = lines.some((line) => line.endsWith("\r\n")) ? "\r\n" : "\n";
  return lines.map((line, i) => (i === lines.length - 1 || line.endsWith("\n") ? line : line + lineBreak));
}

function allOf({ hunks }: TrackedText): Set<number> {
  return new Set(hunks.map(({ id }) => id));
}

/** @returns nothing for no file */
export function textOf({ exists, text }: FileChange): string | undefined {
  return exists ? text.lines.join("") : undefined;
}

/** What is known to be on disk. */
export function sightingOf(change: FileChange): Sighting {
  const { version, exists, opaque, before, reason = NOT_KNOWN } = change;
  if (before === "unknown" || opaque) return { kind: "unknown", reason: opaque?.reason ?? reason, version };
  return exists ? { kind: "known", text: textOf(change) ?? "", version } : { kind: "absent", version };
}

export function shown(change: FileChange): ShownChange {
  const { path, before, exists, cli, turn, prompt, text, opaque } = change;
  const isAdded = before === "absent" && exists && reference(text).length === 0;
  const hunks = opaque ? [] : text.hunks;
  return {
    path,
    status: !exists ? "deleted" : isAdded ? "added" : "modified",
    added: hunks.reduce((sum, { count }) => sum + count, 0),
    removed: hunks.reduce((sum, hunk) => sum + linesBefore(hunk).length, 0),
    hunks: hunks.map((hunk) => ({
      id: hunk.id,
      line: hunk.count > 0 ? hunk.line + 1 : hunk.line,
      count: hunk.count,
      removed: linesBefore(hunk).length,
      conflict: hunk.conflict,
    })),
    cli,
    turn,
    prompt,
    fixed: obstacle(change),
  };
}
