/** Converts buffers to the list of open files for CLIs. */
import type { File } from "../contract/companion.ts";
import type { Active, OpenBuffer } from "./open-buffers.ts";
import { cutSelection } from "./selection.ts";

/**
 * Converts buffers to files, newest first. CLIs sort by timestamp, so that each timestamp must be different.
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
