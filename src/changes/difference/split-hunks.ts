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
export function splitHunks(text: TrackedText, range: Lines, isMeant: (hunk: Hunk) => boolean): SplitText {
  let { lastId } = text;
  const chosen = new Set<number>();
  let isRefused = false;
  const hunks = text.hunks.flatMap((hunk) => {
    // A hunk that only removes lines is chosen together with the line above, or with the first line of the file.
    const first = hunk.count === 0 ? Math.max(hunk.line - 1, 0) : hunk.line;
    const count = Math.max(hunk.count, 1);
    const inHunk = (line: number) => Math.min(Math.max(line - first, 0), count);
    const [from, to] = [inHunk(range.from), inHunk(range.to)];
    if (!isMeant(hunk) || from === to) return hunk;
    if (to - from === count) {
      chosen.add(hunk.id);
      return hunk;
    }
    if (hunk.edited) {
      // The agent has overwritten an edit of the user in this hunk. Such a hunk cannot be split, because nothing tells
      // which of the user's lines belong to which part.
      isRefused = true;
      return hunk;
    }
    const parts: Lines[] = [
      { from: 0, to: from },
      { from, to },
      { from: to, to: count },
    ];
    return parts
      .filter((part) => part.from < part.to)
      .map((part) => {
        const id = ++lastId;
        if (part.from === from) chosen.add(id);
        return { ...partOf(hunk, part), id };
      });
  });
  return { text: { ...text, hunks, lastId }, chosen, isRefused };
}

function partOf(hunk: Hunk, { from, to }: Lines): Hunk {
  const old = hunk.old.slice(from, to === hunk.count ? undefined : to);
  return { ...hunk, line: hunk.line + from, count: to - from, old };
}
