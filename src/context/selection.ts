/** Cuts the selected text to the length that CLIs accept. */
import { MAX_SELECTED_TEXT } from "../contract/companion.ts";

/** Maximum length of one character as users see it, a grapheme cluster (UTF-16 units). */
const MAX_CHARACTER_LENGTH = 256;

/** Cuts a selection to the CLI's limit, never within a character. */
export function cutSelection(selection: string): string {
  // Invalid UTF-8 may arrive as lone surrogates, which UTF-8 cannot encode.
  return limit(selection, MAX_SELECTED_TEXT).replace(/\p{Surrogate}/gu, "\uFFFD");
}

function limit(text: string, units: number): string {
  if (text.length <= units) return text;
  // A line break always ends a character, so that segmenting can start there.
  const from = Math.max(text.lastIndexOf("\n", units - 1) + 1, units - MAX_CHARACTER_LENGTH);
  let end = from;
  for (const { segment, index } of new Intl.Segmenter().segment(
    text.slice(from, units + MAX_CHARACTER_LENGTH),
  )) {
    if (from + index + segment.length > units) break;
    end = from + index + segment.length;
  }
  return text.slice(0, end);
}
