/** Lines of files as text that can be shown. */
import { splitLines } from "./lines.ts";
import { linesBefore, type TrackedText } from "./tracked-text.ts";

/** A longer removal is cut: virtual lines cannot be scrolled through. */
const MAX_LINES = 200;

/** A longer line is cut (characters). */
const MAX_LENGTH = 2_000;

/** @returns what stood in the place of each hunk: the first lines, without line breaks */
export function oldLines({ hunks }: TrackedText): { id: number; lines: string[] }[] {
  return hunks.map((hunk) => ({ id: hunk.id, lines: linesBefore(hunk).slice(0, MAX_LINES).map(plain) }));
}

/** @param text with a character for each byte */
export function shownLines(text: string): string[] {
  return splitLines(text).map(plain);
}

/** Bytes that are no UTF-8 are shown as the characters of Latin-1. */
function plain(line: string): string {
  const bytes = Buffer.from(line.replace(/\r?\n$/, "").slice(0, MAX_LENGTH), "latin1");
  const text = bytes.toString("utf8");
  return text.includes("\uFFFD") ? bytes.toString("latin1") : text;
}
