/**
 * A text in which each hunk knows what stood there before an agent changed it. All else is the user's: what they edit
 * beside a hunk is part of the reference from then on, so that it is neither shown as the agent's nor undone with it.
 * Pure: every operation answers another text.
 */
import { grouped, overlaps, touches } from "./hunk-groups.ts";
import { diffLines, type Edit } from "./lines.ts";

/** `count` lines from `line` on (0-based) stand where the `old` ones stood. */
export interface Hunk {
  /** Stays the same until an edit reaches into the hunk. */
  readonly id: number;
  readonly line: number;
  readonly count: number;
  readonly old: readonly string[];
  /** The user has edited what the agent wrote: to put the old lines back would take the user's away. */
  readonly conflict: boolean;
  /** What stood there when the user had edited it, and the agent went over that: this comes back, not the old lines. */
  readonly edited?: Piece | undefined;
}

/** Some lines, with the hunks among them. */
export interface Piece {
  readonly lines: readonly string[];
  /** In order; they do not overlap. */
  readonly hunks: readonly Hunk[];
}

export interface TrackedText extends Piece {
  /** The highest id that was given to a hunk. */
  readonly lastId: number;
}

export function trackText(lines: readonly string[]): TrackedText {
  return { lines, hunks: [], lastId: 0 };
}

/** The text without what the agent did to it, as far as that has not been kept. */
export function reference(text: TrackedText): string[] {
  return [...composed(text, oldOf).lines];
}

/** What stood there before: what undo brings back, as far as that is no conflict. */
export function linesBefore({ old, edited }: Hunk): readonly string[] {
  return edited?.lines ?? old;
}

/** The agent has made another text of it. */
export function editedByAgent(text: TrackedText, lines: readonly string[]): TrackedText {
  const edits = diffLines(text.lines, lines);
  // What stands side by side is one hunk in every diff.
  return rebuilt(text, lines, edits, touches, (before, old, now) => {
    if (!before.hunks.some(({ conflict, edited }) => conflict || edited))
      return hunksOf(diffLines(old, now), old, false);
    const edited = composed(before, (hunk) => hunk.edited ?? asItIs(before, hunk));
    return diffLines(edited.lines, now).length === 0
      ? edited.hunks
      : [{ line: 0, count: now.length, old, conflict: false, edited }];
  });
}

/** The user has made another text of it. */
export function editedByUser(text: TrackedText, lines: readonly string[]): TrackedText {
  if (diffLines(reference(text), lines).length === 0) return { ...text, lines, hunks: [] };
  const edits = diffLines(text.lines, lines).map((edit) => slideOut(edit, text));
  return rebuilt(text, lines, edits, overlaps, ({ hunks }, old, now) =>
    hunks.length === 0 ? [] : hunksOf(whole(old, now), old, true),
  );
}

/** What is left of these hunks is the user's from now on. */
export function keep(text: TrackedText, ids: ReadonlySet<number>): TrackedText {
  return { ...text, hunks: text.hunks.filter(({ id }) => !ids.has(id)) };
}

/** Puts back what stood there, except where that would take away lines of the user's. */
export function undo(text: TrackedText, ids: ReadonlySet<number>): TrackedText {
  return { ...undone(text, ({ id }) => ids.has(id)), lastId: text.lastId };
}

function undone(piece: Piece, isMeant: (hunk: Hunk) => boolean): Piece {
  return composed(piece, (hunk) => {
    if (hunk.conflict || !isMeant(hunk)) return asItIs(piece, hunk);
    return hunk.edited ? undone(hunk.edited, () => true) : oldOf(hunk);
  });
}

/** @returns the piece with something else in place of each hunk */
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
 * What is inserted above a hunk that begins with the same line (a comment, say) may as well have been inserted within
 * it. Of the two, the one that concerns no hunk is meant.
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

/** All between the first and the last difference, as one edit. */
function whole(old: readonly string[], now: readonly string[]): Edit[] {
  const edits = diffLines(old, now);
  const [first, last] = [edits[0], edits.at(-1)];
  if (!first || !last) return [];
  const to = last.at + last.removed;
  const inserted = now.slice(first.at, now.length - (old.length - to));
  return [{ at: first.at, removed: to - first.at, inserted: [...inserted] }];
}

/**
 * @param meet whether an edit concerns a hunk
 * @param renew the hunks of a part that was edited, by what it was, its old lines, and what it is now
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

function hunksOf(edits: readonly Edit[], old: readonly string[], conflict: boolean): Omit<Hunk, "id">[] {
  let growth = 0;
  return edits.map(({ at, removed, inserted }) => {
    const line = at + growth;
    growth += inserted.length - removed;
    return { line, count: inserted.length, old: old.slice(at, at + removed), conflict };
  });
}
