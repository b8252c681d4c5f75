/** Groups edits and hunks of a text that belong together. */
import type { Edit } from "./line-diff.ts";

interface Span {
  readonly line: number;
  readonly count: number;
}

export function touches(edit: Edit, { line, count }: Span): boolean {
  return edit.at <= line + count && line <= edit.at + edit.removed;
}

/** Whether an edit changes lines of a hunk. An edit exactly at its edge does not. */
export function overlaps(edit: Edit, { line, count }: Span): boolean {
  return edit.at < line + count && line < edit.at + edit.removed;
}

/** Edits and hunks that cannot be separated. */
interface Group<H> {
  edits: Edit[];
  hunks: H[];
}

/**
 * @param edits in order
 * @param hunks in order
 * @param meet whether an edit and a hunk belong together
 */
export function grouped<H extends Span>(
  edits: readonly Edit[],
  hunks: readonly H[],
  meet: (edit: Edit, hunk: Span) => boolean,
): Group<H>[] {
  const groups: Group<H>[] = [];
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

/** Whether an edit comes before a hunk. If both begin at the same line, the one with no lines comes first. */
function isFirst(edit: Edit, hunk: Span): boolean {
  return edit.at < hunk.line || (edit.at === hunk.line && edit.removed === 0);
}
