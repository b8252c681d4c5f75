/** How much of the selected text the CLI is told. */
import { MAX_SELECTED_TEXT } from "../contract/companion.ts";

/** No character, as users see it, is longer than this (UTF-16 units). */
const MAX_CHARACTER = 256;

/** The beginning of a selection as long as the CLI takes it, which does not end within a character. */
export function cutSelection(selection: string): string {
  // Bytes that are no UTF-8 may arrive as halves of a surrogate pair, which no UTF-8 can carry on.
  return limit(selection, MAX_SELECTED_TEXT).replace(/\p{Surrogate}/gu, "\uFFFD");
}

function limit(text: string, units: number): string {
  if (text.length <= units) return text;
  // A character starts after the last line break at the latest.
  const from = Math.max(text.lastIndexOf("\n", units - 1) + 1, units - MAX_CHARACTER);
  let end = from;
  for (const { segment, index } of new Intl.Segmenter().segment(text.slice(from, units + MAX_CHARACTER))) {
    if (from + index + segment.length > units) break;
    end = from + index + segment.length;
  }
  return text.slice(0, end);
}
