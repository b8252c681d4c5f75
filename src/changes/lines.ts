/**
 * Texts as lines, and how they differ. A text holds one character for each byte of its file (latin1), so that any bytes
 * come out as they went in; a line keeps its line break, so that CRLF and a missing last one are part of what differs.
 */
import { diffArrays } from "diff";

/** In place of `removed` lines from line `at` on (0-based) stand the `inserted` ones. */
export interface Edit {
  at: number;
  removed: number;
  inserted: string[];
}

/**
 * Texts that differ in more lines are not held against each other line by line: all between the first and the last
 * difference counts as one. What it costs grows with the square of it, and the host does nothing else meanwhile.
 */
const MAX_EDITS = 2_000;

/** Joined, the lines are the text again; an empty text has none. */
export function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** @returns disjoint edits in order, their lines counted in `before`; between two of them stands at least one line */
export function diffLines(before: readonly string[], after: readonly string[]): Edit[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const middle = before.slice(head, before.length - tail);
  const replacement = after.slice(head, after.length - tail);
  if (middle.length === 0 && replacement.length === 0) return [];
  const parts = diffArrays(middle, replacement, { maxEditLength: MAX_EDITS });
  if (!parts) return [{ at: head, removed: middle.length, inserted: replacement }];
  const edits: Edit[] = [];
  let at = head;
  let open: Edit | undefined;
  for (const { added, removed, value } of parts) {
    if (!added && !removed) {
      at += value.length;
      open = undefined;
      continue;
    }
    if (!open) {
      open = { at, removed: 0, inserted: [] };
      edits.push(open);
    }
    if (added) open.inserted.push(...value);
    else {
      open.removed += value.length;
      at += value.length;
    }
  }
  return edits;
}
