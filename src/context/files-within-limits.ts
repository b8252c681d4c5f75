/** Converts buffers to the list of open files for CLIs. */
import { type File, MAX_SELECTED_TEXT } from "../contract/companion.ts";
import type { Snapshot } from "../contract/neovim.ts";

export type Active = NonNullable<Snapshot["active"]>;

export interface OpenBuffer {
  bufnr: number;
  path: string;
  /** Time of the last focus (Unix milliseconds); undefined if the buffer never had the focus. */
  focused: number | undefined;
}

/** Maximum length of a character as the user sees it, that is, of a grapheme cluster (UTF-16 units). */
const MAX_CHARACTER_LENGTH = 256;

/**
 * Converts buffers to files, newest first. No two files get the same timestamp, because CLIs sort files by timestamp.
 * @param started timestamp for files that never had the focus (Unix milliseconds)
 */
export function openFiles(
  buffers: readonly OpenBuffer[],
  active: Active | undefined,
  started: number,
): File[] {
  let before = Number.POSITIVE_INFINITY;
  return buffers.map(({ bufnr, path, focused }) => {
    before = Math.min(focused ?? started, before - 1);
    const file: File = { path, timestamp: before };
    if (bufnr !== active?.bufnr) return file;
    const { line, character, selection } = active;
    const selectedText = selection && cutSelection(selection);
    return {
      ...file,
      isActive: true,
      cursor: { line, character },
      ...(selectedText ? { selectedText } : {}),
    };
  });
}

/** Truncates a selection to the CLI's limit. Never cuts through a character. */
function cutSelection(selection: string): string {
  // Replaces lone surrogates, because UTF-8 cannot encode them. Invalid UTF-8 in a file can lead to such surrogates.
  return limit(selection, MAX_SELECTED_TEXT).replace(/\p{Surrogate}/gu, "\uFFFD");
}

function limit(text: string, units: number): string {
  if (text.length <= units) return text;
  // Starts after a line break if possible, because a line break always ends a grapheme cluster.
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
