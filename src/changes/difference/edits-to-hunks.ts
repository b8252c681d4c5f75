/**
 * Tracks which lines of a text agents have changed. A hunk marks changed lines, and keeps the old lines. All other
 * lines belong to the user: edits outside hunks become part of the reference text, and are neither marked nor undone.
 * All operations return a new text, and leave their arguments unchanged.
 */
import { diffLines, type Edit } from "./compare-lines.ts";

/** A change by agents: `count` lines, starting at `line` (0-based), have replaced the `old` lines. */
export interface Hunk {
  /** Id of the hunk. An edit of the hunk's lines assigns a new id. */
  readonly id: number;
  readonly line: number;
  readonly count: number;
  readonly old: readonly string[];
  /** True if the user has edited the agent's lines. Restoring the old lines would then remove the user's edits. */
  readonly conflict: boolean;
  /** Start of the agent's turn that last edited the hunk (Unix milliseconds). */
  readonly turn: number;
  /** Lines that the user had edited before the agent overwrote them. Undo restores these lines instead of `old`. */
  readonly edited?: Piece | undefined;
}

/** Some lines, and the hunks in these lines. */
export interface Piece {
  readonly lines: readonly string[];
  /** Hunks from top to bottom, without overlaps. */
  readonly hunks: readonly Hunk[];
}

export interface TrackedText extends Piece {
  /** Highest id that a hunk has had so far. */
  readonly lastId: number;
}

export function trackText(lines: readonly string[]): TrackedText {
  return { lines, hunks: [], lastId: 0 };
}

/** Returns the reference text: the text without the agents' undecided changes. */
export function reference(text: TrackedText): string[] {
  return [...composed(text, oldOf).lines];
}

/** Returns the lines that undo restores for a hunk. For a hunk with a conflict, returns the lines before the agent's. */
export function linesBefore({ old, edited, conflict }: Hunk): readonly string[] {
  return edited && !conflict ? undone(edited, () => true).lines : old;
}

/** Returns the text with the earlier lines of all hunks. */
export function before(text: TrackedText): readonly string[] {
  return composed(text, (hunk) => ({ lines: linesBefore(hunk), hunks: [] })).lines;
}

/** Applies an agent's edit. @param turn start of the agent's turn (Unix milliseconds) */
export function editedByAgent(text: TrackedText, lines: readonly string[], turn: number): TrackedText {
  const edits = diffLines(text.lines, lines);
  // Merges adjacent hunks, as a new diff of both texts would do.
  return rebuilt(text, lines, edits, touches, (before, old, now) => {
    if (!before.hunks.some(({ conflict, edited }) => conflict || edited))
      return hunksOf(diffLines(old, now), old, { conflict: false, turn });
    const edited = composed(before, (hunk) => hunk.edited ?? asItIs(before, hunk));
    return diffLines(edited.lines, now).length === 0
      ? edited.hunks
      : [{ line: 0, count: now.length, old, conflict: false, turn, edited }];
  });
}

/** Applies an edit of the user. */
export function editedByUser(text: TrackedText, lines: readonly string[]): TrackedText {
  if (diffLines(reference(text), lines).length === 0) return { ...text, lines, hunks: [] };
  const edits = diffLines(text.lines, lines).map((edit) => slideOut(edit, text));
  return rebuilt(text, lines, edits, overlaps, ({ hunks }, old, now) =>
    hunks.length === 0 ? [] : hunksOf(asOneEdit(old, now), old, { conflict: true, turn: newestTurn(hunks) }),
  );
}

export function newestTurn(hunks: readonly Hunk[]): number {
  return hunks.reduce((latest, { turn }) => Math.max(latest, turn), 0);
}

/** Keeps hunks: their current lines become part of the reference text. */
export function keep(text: TrackedText, ids: ReadonlySet<number>): TrackedText {
  return { ...text, hunks: text.hunks.filter(({ id }) => !ids.has(id)) };
}

/** Restores the old lines of hunks. Skips hunks that contain edits of the user. */
export function undo(text: TrackedText, ids: ReadonlySet<number>): TrackedText {
  return { ...undone(text, ({ id }) => ids.has(id)), lastId: text.lastId };
}

function undone(piece: Piece, isMeant: (hunk: Hunk) => boolean): Piece {
  return composed(piece, (hunk) => {
    if (hunk.conflict || !isMeant(hunk)) return asItIs(piece, hunk);
    return hunk.edited ? undone(hunk.edited, () => true) : oldOf(hunk);
  });
}

/** Replaces each hunk by the lines and hunks that `replacement` returns. */
function composed(piece: Piece, replacement: (hunk: Hunk) => Piece): Piece {
  const parts: (readonly string[])[] = [];
  const hunks: Hunk[] = [];
  let [at, length] = [0, 0];
  const add = (lines: readonly string[]) => {
    parts.push(lines);
    length += lines.length;
  };
  for (const hunk of piece.hunks) {
    add(piece.lines.slice(at, hunk.line));
    const { lines, hunks: inner } = replacement(hunk);
    hunks.push(...inner.map((one) => ({ ...one, line: one.line + length })));
    add(lines);
    at = hunk.line + hunk.count;
  }
  add(piece.lines.slice(at));
  return { lines: parts.flat(), hunks };
}

function oldOf({ old }: Hunk): Piece {
  return { lines: old, hunks: [] };
}

function asItIs({ lines }: Piece, hunk: Hunk): Piece {
  return { lines: lines.slice(hunk.line, hunk.line + hunk.count), hunks: [{ ...hunk, line: 0 }] };
}

/**
 * Moves an insertion from inside a hunk to the line above the hunk, if the resulting text is the same. An insertion
 * above does not count as an edit of the hunk. Example: a hunk begins with a comment, and the user inserts a function
 * with the same comment above the hunk. A diff may then place the insertion below the comment of the hunk.
 */
function slideOut(edit: Edit, { lines, hunks }: TrackedText): Edit {
  const hunk = hunks.find((one) => overlaps(edit, one));
  if (!hunk || edit.removed > 0) return edit;
  const distance = edit.at - hunk.line;
  const inserted = [...lines.slice(hunk.line, edit.at), ...edit.inserted];
  const isSame = lines
    .slice(hunk.line, edit.at)
    .every((line, i) => line === inserted[edit.inserted.length + i]);
  return isSame && distance > 0
    ? { at: hunk.line, removed: 0, inserted: inserted.slice(0, edit.inserted.length) }
    : edit;
}

/** Returns a single edit that covers all differences between two texts. */
function asOneEdit(old: readonly string[], now: readonly string[]): Edit[] {
  const edits = diffLines(old, now);
  const [first, last] = [edits[0], edits.at(-1)];
  if (!first || !last) return [];
  const to = last.at + last.removed;
  const inserted = now.slice(first.at, now.length - (old.length - to));
  return [{ at: first.at, removed: to - first.at, inserted: [...inserted] }];
}

/**
 * Updates the hunks of a text after edits. If no edit touches a hunk, only the line number of the hunk changes.
 * @param lines the text after the edits
 * @param meet returns whether an edit belongs to a hunk
 * @param renew returns the new hunks of an edited part. Arguments: the part before the edit, the same part of the
 * reference text, and the part after the edit
 */
function rebuilt(
  text: TrackedText,
  lines: readonly string[],
  edits: readonly Edit[],
  meet: typeof touches,
  renew: (before: Piece, old: readonly string[], now: readonly string[]) => readonly Omit<Hunk, "id">[],
): TrackedText {
  let { lastId } = text;
  let shift = 0;
  const hunks: Hunk[] = [];
  for (const group of grouped(edits, text.hunks, meet)) {
    if (group.edits.length === 0) {
      hunks.push(...group.hunks.map((hunk) => ({ ...hunk, line: hunk.line + shift })));
      continue;
    }
    const from = Math.min(...[...group.edits.map(({ at }) => at), ...group.hunks.map(({ line }) => line)]);
    const to = Math.max(
      ...group.edits.map(({ at, removed }) => at + removed),
      ...group.hunks.map(({ line, count }) => line + count),
    );
    const growth = group.edits.reduce((sum, { removed, inserted }) => sum + inserted.length - removed, 0);
    const inside = group.hunks.map((hunk) => ({ ...hunk, line: hunk.line - from }));
    const before = { lines: text.lines.slice(from, to), hunks: inside };
    const start = from + shift;
    const renewed = renew(before, composed(before, oldOf).lines, lines.slice(start, to + shift + growth));
    hunks.push(...renewed.map((hunk) => ({ ...hunk, id: ++lastId, line: hunk.line + start })));
    shift += growth;
  }
  return { lines, hunks, lastId };
}

function hunksOf(
  edits: readonly Edit[],
  old: readonly string[],
  rest: Pick<Hunk, "conflict" | "turn">,
): Omit<Hunk, "id">[] {
  let growth = 0;
  return edits.map(({ at, removed, inserted }) => {
    const line = at + growth;
    growth += inserted.length - removed;
    return { line, count: inserted.length, old: old.slice(at, at + removed), ...rest };
  });
}

function touches(edit: Edit, { line, count }: Hunk): boolean {
  return edit.at <= line + count && line <= edit.at + edit.removed;
}

/** Returns whether an edit changes lines of a hunk. An insertion directly above or below the hunk does not count. */
function overlaps(edit: Edit, { line, count }: Hunk): boolean {
  return edit.at < line + count && line < edit.at + edit.removed;
}

/** Edits and hunks that belong together, directly or through other members of the group. */
interface Group {
  edits: Edit[];
  hunks: Hunk[];
}

/**
 * Groups edits with the hunks to which they belong.
 * @param edits from top to bottom
 * @param hunks from top to bottom
 * @param meet returns whether an edit belongs to a hunk
 */
function grouped(edits: readonly Edit[], hunks: readonly Hunk[], meet: typeof touches): Group[] {
  const groups: Group[] = [];
  let [e, h] = [0, 0];
  while (e < edits.length || h < hunks.length) {
    const [edit, hunk] = [edits[e], hunks[h]];
    const group = groups.at(-1);
    const [lastEdit, lastHunk] = [group?.edits.at(-1), group?.hunks.at(-1)];
    if (group && edit && lastHunk && meet(edit, lastHunk)) {
      group.edits.push(edit);
      e += 1;
    } else if (group && hunk && lastEdit && meet(lastEdit, hunk)) {
      group.hunks.push(hunk);
      h += 1;
    } else if (edit && (!hunk || isFirst(edit, hunk))) {
      groups.push({ edits: [edit], hunks: [] });
      e += 1;
    } else if (hunk) {
      groups.push({ edits: [], hunks: [hunk] });
      h += 1;
    }
  }
  return groups;
}

/** Returns whether an edit comes before a hunk. At the same line, only an insertion comes before the hunk. */
function isFirst(edit: Edit, hunk: Hunk): boolean {
  return edit.at < hunk.line || (edit.at === hunk.line && edit.removed === 0);
}
