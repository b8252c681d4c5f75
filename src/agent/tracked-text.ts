/**
 * A text in which each hunk knows what stood there before an agent changed it. All else is the user's: what they edit
 * beside a hunk is part of the reference from then on, so that it is neither shown as the agent's nor undone with it.
 * Pure: every operation answers another text.
 */
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
}

export interface TrackedText {
  readonly lines: readonly string[];
  /** In order; they do not overlap. */
  readonly hunks: readonly Hunk[];
  /** The highest id that was given to a hunk. */
  readonly lastId: number;
}

export function trackText(lines: readonly string[]): TrackedText {
  return { lines, hunks: [], lastId: 0 };
}

/** The text without what the agent did to it, as far as that has not been kept. */
export function reference({ lines, hunks }: TrackedText): string[] {
  return referenceOf(lines, hunks, 0, lines.length);
}

/** @param to the line after the last one */
function referenceOf(lines: readonly string[], hunks: readonly Hunk[], from: number, to: number): string[] {
  const pieces: (readonly string[])[] = [];
  let at = from;
  for (const { line, count, old } of hunks) {
    pieces.push(lines.slice(at, line), old);
    at = line + count;
  }
  pieces.push(lines.slice(at, to));
  return pieces.flat();
}

/** The agent has made another text of it. */
export function editedByAgent(text: TrackedText, lines: readonly string[]): TrackedText {
  const edits = diffLines(text.lines, lines);
  // What stands side by side is one hunk in every diff.
  return rebuilt(text, lines, edits, touches, (hunks, old, now) =>
    hunks.some(({ conflict }) => conflict) ? whole(old, now) : diffLines(old, now),
  );
}

/** The user has made another text of it. */
export function editedByUser(text: TrackedText, lines: readonly string[]): TrackedText {
  if (diffLines(reference(text), lines).length === 0) return { ...text, lines, hunks: [] };
  const edits = diffLines(text.lines, lines).map((edit) => slideOut(edit, text));
  return rebuilt(text, lines, edits, overlaps, (hunks, old, now) =>
    hunks.length === 0 ? [] : whole(old, now),
  );
}

/** What is left of these hunks is the user's from now on. */
export function keep(text: TrackedText, ids: ReadonlySet<number>): TrackedText {
  return { ...text, hunks: text.hunks.filter(({ id }) => !ids.has(id)) };
}

/** Puts the old lines back, except where that would take away lines of the user's. */
export function undo(text: TrackedText, ids: ReadonlySet<number>): TrackedText {
  const undone = text.hunks.filter(({ id, conflict }) => ids.has(id) && !conflict);
  let shift = 0;
  const hunks: Hunk[] = [];
  for (const hunk of text.hunks) {
    if (undone.includes(hunk)) shift += hunk.old.length - hunk.count;
    else hunks.push({ ...hunk, line: hunk.line + shift });
  }
  return { ...text, lines: referenceOf(text.lines, undone, 0, text.lines.length), hunks };
}

function touches(edit: Edit, hunk: Hunk): boolean {
  return edit.at <= hunk.line + hunk.count && hunk.line <= edit.at + edit.removed;
}

/** An edit at the very edge of a hunk leaves it alone. */
function overlaps(edit: Edit, hunk: Hunk): boolean {
  return edit.at < hunk.line + hunk.count && hunk.line < edit.at + edit.removed;
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

function whole(old: readonly string[], now: readonly string[]): Edit[] {
  const edits = diffLines(old, now);
  const [first, last] = [edits[0], edits.at(-1)];
  if (!first || !last) return [];
  const to = last.at + last.removed;
  const inserted = now.slice(first.at, now.length - (old.length - to));
  return [{ at: first.at, removed: to - first.at, inserted: [...inserted] }];
}

/** Edits and hunks that cannot be told apart. */
interface Group {
  edits: Edit[];
  hunks: Hunk[];
}

function grouped(
  edits: readonly Edit[],
  hunks: readonly Hunk[],
  meet: (edit: Edit, hunk: Hunk) => boolean,
): Group[] {
  const groups: Group[] = [];
  let [e, h] = [0, 0];
  for (;;) {
    const [edit, hunk] = [edits[e], hunks[h]];
    if (!edit && !hunk) return groups;
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
}

/** Of two that begin at the same line the one without lines there comes first. */
function isFirst(edit: Edit, hunk: Hunk): boolean {
  return edit.at < hunk.line || (edit.at === hunk.line && edit.removed === 0);
}

/**
 * @param meet whether an edit concerns a hunk
 * @param compare what is a hunk where the old lines now are others, counted in these
 */
function rebuilt(
  text: TrackedText,
  lines: readonly string[],
  edits: readonly Edit[],
  meet: (edit: Edit, hunk: Hunk) => boolean,
  compare: (hunks: readonly Hunk[], old: string[], now: readonly string[]) => Edit[],
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
    const old = referenceOf(text.lines, group.hunks, from, to);
    const now = lines.slice(from + shift, to + shift + growth);
    const conflict =
      group.hunks.length > 0 && (meet === overlaps || group.hunks.some((hunk) => hunk.conflict));
    let offset = from + shift;
    for (const { at, removed, inserted } of compare(group.hunks, old, now)) {
      hunks.push({
        id: ++lastId,
        line: offset + at,
        count: inserted.length,
        old: old.slice(at, at + removed),
        conflict,
      });
      offset += inserted.length - removed;
    }
    shift += growth;
  }
  return { lines, hunks, lastId };
}
