/** The list of open files as it goes to the CLI. */

import type { File } from "../contract/companion.ts";
import type { Active, OpenBuffer } from "./open-buffers.ts";
import { cutSelection } from "./selection.ts";

/**
 * Files on the wire, the newest first. Their order is all in the timestamps, so no two may be alike.
 * @param started Unix milliseconds, for files that never had the focus
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
