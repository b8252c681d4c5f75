/** Converts lines of files to text for Neovim. */
import { linesBefore, type TrackedText } from "./edits-to-hunks.ts";
import { splitLines } from "./line-diff.ts";

/**
 * Maximum number of removed lines that Neovim shows for one hunk. They are shown as virtual lines, which cannot be
 * scrolled.
 */
const MAX_REMOVED_LINES = 200;

/** Maximum length of a shown line (characters). */
const MAX_LINE_LENGTH = 2_000;

/** Returns the removed lines of each hunk without line breaks, up to MAX_REMOVED_LINES. */
export function oldLines({ hunks }: TrackedText): { id: number; lines: string[] }[] {
  return hunks.map((hunk) => ({
    id: hunk.id,
    lines: linesBefore(hunk)
      .slice(0, MAX_REMOVED_LINES)
      .map((line) => plain(line)),
  }));
}

/**
 * Returns the lines of a text. Cuts long lines. @param text text with one character for each byte of the file (latin1)
 */
export function shownLines(text: string): string[] {
  return splitLines(text).map((line) => plain(line));
}

/**
 * Returns the lines of a text as Neovim would load them into a buffer.
 * @param text text with one character for each byte of the file (latin1)
 */
export function wholeLines(text: string): string[] {
  const mark = /^\xef\xbb\xbf/;
  return splitLines(text.replace(mark, "")).map((line) => plain(line, Number.POSITIVE_INFINITY));
}

/** Decodes a line as UTF-8, or as Latin-1 if the bytes are not valid UTF-8. */
function plain(line: string, maxLength = MAX_LINE_LENGTH): string {
  const bytes = Buffer.from(line.replace(/\r?\n$/, "").slice(0, maxLength), "latin1");
  const text = bytes.toString("utf8");
  return text.includes("\uFFFD") ? bytes.toString("latin1") : text;
}
