/** Splits hunks at the lines that the user has chosen. */
import type { Hunk, TrackedText } from "./edits-to-hunks.ts";

/** A range of lines (0-based). `to` is exclusive. */
export interface Lines {
  readonly from: number;
  readonly to: number;
}

interface SplitText {
  readonly text: TrackedText;
  /** Ids of the hunks that lie in the chosen lines. */
  readonly chosen: ReadonlySet<number>;
  /** True if the user has chosen only a part of a hunk, and this hunk cannot be split. */
  readonly isRefused: boolean;
}

/**
 * Splits hunks at the edges of the chosen lines. Divides the old lines by position: the first old line belongs to the
 * first current line, and so on. The last part gets all remaining old lines.
 * @param isMeant returns whether a hunk may be chosen at all
 */
export function splitHunks(
  text: TrackedText,
  chosen: readonly Lines[],
  isMeant: (hunk: Hunk) => boolean,
): SplitText {
  let { lastId } = text;
  const ids = new Set<number>();
  let isRefused = false;
  const isIn = (line: number) => chosen.some(({ from, to }) => from <= line && line < to);
  const hunks = text.hunks.flatMap((hunk) => {
    if (!isMeant(hunk)) return hunk;
    const parts = partsOf(hunk, isIn);
    const isWhole = parts.length === 1;
    if (!isWhole && hunk.edited) {
      // The agent has overwritten an edit of the user in this hunk. Such a hunk cannot be split, because nothing tells
      // which of the user's lines belong to which part.
      isRefused = true;
      return hunk;
    }
    return parts.map(({ isChosen, ...lines }) => {
      const part = isWhole ? hunk : { ...partOf(hunk, lines), id: ++lastId };
      if (isChosen) ids.add(part.id);
      return part;
    });
  });
  return { text: { ...text, hunks, lastId }, chosen: ids, isRefused };
}

/**
 * Divides a hunk into chosen parts and other parts. Line numbers are relative to the hunk (0-based). A hunk that only
 * removes lines is chosen together with the line above. At the top of the file, such a hunk is chosen with the first
 * line.
 */
function partsOf({ line, count }: Hunk, isIn: (line: number) => boolean): (Lines & { isChosen: boolean })[] {
  if (count === 0) return [{ from: 0, to: 0, isChosen: isIn(Math.max(line - 1, 0)) }];
  const parts: { from: number; to: number; isChosen: boolean }[] = [];
  for (let at = 0; at < count; at += 1) {
    const isChosen = isIn(line + at);
    const last = parts.at(-1);
    if (last?.isChosen === isChosen) last.to = at + 1;
    else parts.push({ from: at, to: at + 1, isChosen });
  }
  return parts;
}

function partOf(hunk: Hunk, { from, to }: Lines): Hunk {
  const old = hunk.old.slice(from, to === hunk.count ? undefined : to);
  return { ...hunk, line: hunk.line + from, count: to - from, old };
}
