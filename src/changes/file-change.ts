/**
 * Describes the undecided changes of agents in one file: the hunks, and whether the file was created or deleted. A
 * change is undecided until the user keeps or undoes the change.
 */
import { isDeepStrictEqual } from "node:util";
import type { ShownChange } from "../contract/changes.ts";
import type { Author } from "../contract/turns.ts";
import { type FileState, HIDDEN, type Metadata } from "../system/file-state.ts";
import { withoutRename } from "../system/file-version.ts";
import { splitLines } from "./difference/compare-lines.ts";
import {
  before as earlierLines,
  editedByAgent,
  editedByUser,
  keep,
  linesBefore,
  newestTurn,
  reference,
  type TrackedText,
  trackText,
  undo,
} from "./difference/edits-to-hunks.ts";

/** A file on disk whose text is unknown. */
interface Opaque {
  /** Reason why the text is unknown, such as "the file is too long". */
  readonly reason: string;
  /** Who has written this text: `user` if the user has written at least a part of it. */
  readonly by: "agent" | "user";
}

/**
 * Record of the changes in one file ("change record"). The fields of `Author` describe the agent that wrote the file
 * last.
 */
export interface FileChange extends Author {
  /** Absolute path with all symbolic links resolved. */
  readonly path: string;
  /** State of the file before the first change: `known` (existed and was read), `absent`, or `unknown`. */
  readonly before: FileState["kind"];
  /** Reason why the bytes before the first change are unknown. */
  readonly reason?: string | undefined;
  /** Metadata of the file before agents changed it. */
  readonly metadata?: Metadata | undefined;
  /** Last known metadata of the file. */
  readonly lastMetadata?: Metadata | undefined;
  /** True if the file exists now. */
  readonly exists: boolean;
  /** Last known text. Its hunks contain the earlier lines. */
  readonly text: TrackedText;
  /** Set if the current text of the file is unknown. `text` is then outdated. */
  readonly opaque?: Opaque | undefined;
  /** Version of the file when it was read last. */
  readonly version: string;
  /** True if an agent has written the file. If `before` is unknown, nothing more is known about the change. */
  readonly touched: boolean;
  /**
   * Object name of the file in Git's index, recorded after an agent's write. If the name in the index changes later,
   * the user has staged the file (staging.ts).
   */
  readonly staged?: string | undefined;
  /** Set if others have written the file while a command changed it. It is then undone only as a whole. */
  readonly together?: string | undefined;
  /** Number of hunks that the user has kept or undone. */
  readonly decided: number;
  /** Authors of earlier turns whose hunks are still undecided, oldest first. */
  readonly earlier: readonly Author[];
}

/** Creates the change record of a file. @param found state of the file before an agent's edit */
export function beginChange(path: string, found: FileState, author: Author): FileChange {
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
    decided: 0,
    earlier: [],
    ...authorOf(author),
  };
}

/** Returns the texts before and after a change; undefined if one of these is unknown. */
export function textsOf(before: FileChange, after: FileChange) {
  const [old, now] = [fileStateOf(before), fileStateOf(after)];
  if (old.kind === "unknown" || now.kind === "unknown") return undefined;
  return { before: old.kind === "known" ? old.text : null, after: now.kind === "known" ? now.text : null };
}

/**
 * Updates a change record from the state on disk. Returns the same record while the folder of the file cannot be read,
 * unless an agent has made the folder unreadable.
 * @param author the agent that has written the file; undefined for the user
 */
export function follow(change: FileChange, found: FileState, author?: Author): FileChange {
  if (found.version === HIDDEN && !author) return change;
  return author ? wroteByAgent(change, found, author) : wroteByUser(change, found);
}

function wroteByAgent(change: FileChange, found: FileState, author: Author): FileChange {
  const { version } = found;
  const exists = version === HIDDEN ? change.exists : found.kind !== "absent";
  const touched = change.touched || version !== change.version;
  const { metadata: lastMetadata = change.lastMetadata } = found;
  const earlier = earlierAuthors(change, author);
  const next = { ...change, ...authorOf(author), earlier, exists, version, touched, lastMetadata };
  if (change.before === "unknown") return next;
  if (found.kind === "unknown")
    return { ...next, opaque: change.opaque ?? { reason: found.reason, by: "agent" } };
  if (change.opaque?.by === "user") return forgotten(next, NOT_KNOWN);
  return { ...next, opaque: undefined, text: editedByAgent(change.text, linesOf(found), author.turn) };
}

/** Returns the authors of earlier turns that still have undecided hunks. */
function earlierAuthors(change: FileChange, { turn }: Author): Author[] {
  return [...change.earlier, authorOf(change)].filter(
    (one) => one.turn !== turn && change.text.hunks.some((hunk) => hunk.turn === one.turn),
  );
}

function wroteByUser(change: FileChange, found: FileState): FileChange {
  const { version } = found;
  const exists = found.kind !== "absent";
  if (change.before === "unknown") return { ...change, exists, version };
  if (found.kind === "unknown")
    return { ...change, exists, version, opaque: { reason: found.reason, by: "user" } };
  // The file was unreadable for a moment. Its text is still the same.
  if (change.opaque && (found.kind === "known" ? found.text : undefined) === textOf(change))
    return { ...change, version, opaque: undefined };
  // The agent's command that hid the file may have changed the file before, and the user may have changed it since.
  if (change.version === HIDDEN) return { ...forgotten(change, NOT_KNOWN), exists, version, touched: true };
  // The agent's text was unreadable until now. If only the permissions have changed meanwhile, the agent is still the
  // author.
  const isSameText = withoutRename(version) === withoutRename(change.version);
  if (change.opaque?.by === "agent" && isSameText) return wroteByAgent(change, found, change);
  // After the user has deleted or replaced the file, no text of an agent is left.
  if (exists !== change.exists || change.opaque?.by === "agent")
    return beginChange(change.path, found, authorOf(change));
  const { metadata: lastMetadata = change.lastMetadata } = found;
  // Undo restores the metadata from before the agent's change, unless the user has changed the metadata.
  const metadata = isDeepStrictEqual(lastMetadata, change.lastMetadata) ? change.metadata : lastMetadata;
  const text = editedByUser(change.text, linesOf(found));
  return { ...change, version, metadata, lastMetadata, opaque: undefined, text };
}

function forgotten(change: FileChange, reason: string): FileChange {
  return { ...change, before: "unknown", reason, opaque: undefined, text: trackText([]) };
}

/** Returns the record of a changed file whose stored texts are lost. */
export function withoutEarlier(change: Omit<FileChange, "text">): FileChange {
  return { ...forgotten({ ...change, text: trackText([]) }, NOT_KNOWN), touched: true };
}

/** Returns the total length of all texts of a record (characters). */
export function lengthOf({ text }: FileChange): number {
  const of = (lines: readonly string[]) => lines.reduce((sum, line) => sum + line.length, 0);
  return text.hunks.reduce((sum, { old, edited }) => sum + of(old) + of(edited?.lines ?? []), of(text.lines));
}

export const NOT_KNOWN = "its earlier bytes are unknown";

function linesOf(found: FileState): string[] {
  return splitLines(found.kind === "known" ? found.text : "");
}

export function authorOf({ cli, turn, prompt, session }: Author): Author {
  return { cli, turn, prompt, session };
}

export function isChanged({ before, exists, text, opaque, touched }: FileChange): boolean {
  if (before === "unknown") return touched;
  return exists !== (before === "known") || opaque?.by === "agent" || text.hunks.length > 0;
}

/** Returns the reason why the changes cannot be undone; undefined if undo is possible. */
export function obstacle({ before, reason, opaque }: FileChange): string | undefined {
  if (before === "unknown") return reason;
  return opaque?.by === "user" ? opaque.reason : undefined;
}

/** Returns the change record after keeping hunks. @param ids the hunks to keep; undefined for the whole file */
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
        together: undefined,
      };
}

/**
 * Returns the change record after an undo. The caller must write the new text to the file.
 * @param ids the hunks to undo; undefined for the whole file
 */
export function undone(change: FileChange, ids?: ReadonlySet<number>): FileChange {
  if (change.opaque) return undone(withoutText(change));
  const chosen = ids ?? allOf(change.text);
  const { hunks } = change.text;
  const { lines, ...rest } = undo(change.text, chosen);
  const text = { ...rest, lines: withMissingBreak(lines) };
  const isAny =
    hunks.length + chosen.size === 0 || hunks.some(({ id, conflict }) => chosen.has(id) && !conflict);
  const isBack = isAny && text.hunks.length === 0;
  // Undo deletes a file that the agent created, unless others have added lines to the file.
  const exists = isBack && change.before === "absent" ? text.lines.length > 0 : change.exists || isAny;
  return { ...change, text, exists, before: isBack ? (exists ? "known" : "absent") : change.before };
}

/** Treats an unknown text as removed by the agent. Undo then restores the complete earlier text. */
function withoutText({ opaque: _, ...change }: FileChange): FileChange {
  return change.before === "absent"
    ? { ...change, text: trackText([]) }
    : { ...change, exists: false, text: editedByAgent(change.text, [], change.turn) };
}

/**
 * Adds missing line breaks. Needed if undo restores a last line without a line break, and the user has added lines
 * below this line.
 */
function withMissingBreak(lines: readonly string[]): string[] {
  const lineBreak = lines.some((line) => line.endsWith("\r\n")) ? "\r\n" : "\n";
  return lines.map((line, i) => (i === lines.length - 1 || line.endsWith("\n") ? line : line + lineBreak));
}

function allOf({ hunks }: TrackedText): Set<number> {
  return new Set(hunks.map(({ id }) => id));
}

/** Returns the current text of the file; undefined if the file does not exist. */
export function textOf({ exists, text }: FileChange): string | undefined {
  return exists ? text.lines.join("") : undefined;
}

/** Returns the state of the file when it was read last. */
export function fileStateOf(change: FileChange): FileState {
  const { version, exists, opaque, before, reason = NOT_KNOWN } = change;
  if (before === "unknown" || opaque) return { kind: "unknown", reason: opaque?.reason ?? reason, version };
  return exists ? { kind: "known", text: textOf(change) ?? "", version } : { kind: "absent", version };
}

/** Returns the author of the newest turn with undecided hunks. */
export function newestAuthor(change: FileChange): Author {
  if (change.opaque) return authorOf(change);
  const newest = newestTurn(change.text.hunks);
  return authorOf(change.earlier.find(({ turn }) => turn === newest) ?? change);
}

/** Returns the text before the undecided changes; "" if the file did not exist or its text is unknown. */
export function textBefore(change: FileChange): string {
  const { text } = change.opaque ? undone(change) : change;
  return earlierLines(text).join("");
}

export function shown(change: FileChange): ShownChange {
  const { path, before, exists, text, opaque, decided } = change;
  const isAdded = before === "absent" && exists && reference(text).length === 0;
  const hunks = opaque ? [] : text.hunks;
  const { cli, turn, prompt } = newestAuthor(change);
  let growth = 0;
  return {
    path,
    status: !exists ? "deleted" : isAdded ? "added" : "modified",
    added: hunks.reduce((sum, { count }) => sum + count, 0),
    removed: hunks.reduce((sum, hunk) => sum + linesBefore(hunk).length, 0),
    hunks: hunks.map((hunk) => {
      const { id, line, count, conflict, turn } = hunk;
      const removed = linesBefore(hunk).length;
      const old = line - growth;
      growth += count - removed;
      const first = (from: number, lines: number) => (lines > 0 ? from + 1 : from);
      return { id, line: first(line, count), count, old: first(old, removed), removed, conflict, turn };
    }),
    decided,
    cli,
    turn,
    prompt,
    fixed: obstacle(change),
    together: change.together,
  };
}
