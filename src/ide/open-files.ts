/** The list of open files as it goes to the CLI. */
import type { Active, OpenBuffer } from "./history.ts";
import { type File, MAX_SELECTED_TEXT } from "./wire.ts";

/** Files on the wire, the newest first. Their order is all in the timestamps, so no two may be alike. */
export function describe(buffers: readonly OpenBuffer[], active: Active | undefined, opened: number): File[] {
  let before = Number.POSITIVE_INFINITY;
  return buffers.map(({ bufnr, path, focused }) => {
    before = Math.min(focused ?? opened, before - 1);
    const file: File = { path, timestamp: before };
    if (bufnr !== active?.bufnr) return file;
    const { line, character, selection } = active;
    // Bytes that are no UTF-8 may arrive as halves of a surrogate pair, which no UTF-8 can carry on.
    const selectedText =
      selection && limit(selection, MAX_SELECTED_TEXT).replace(/\p{Surrogate}/gu, "\uFFFD");
    return {
      ...file,
      isActive: true,
      cursor: { line, character },
      ...(selectedText ? { selectedText } : {}),
    };
  });
}

/** The beginning of a text, at most `units` UTF-16 units long and not ending within a character as users see it. */
function limit(text: string, units: number): string {
  if (text.length <= units) return text;
  // A character starts after the last line break at the latest, and none is longer than this.
  const from = Math.max(text.lastIndexOf("\n", units - 1) + 1, units - 256);
  let end = from;
  for (const { segment, index } of new Intl.Segmenter().segment(text.slice(from, units + 256))) {
    if (from + index + segment.length > units) break;
    end = from + index + segment.length;
  }
  return text.slice(0, end);
}
