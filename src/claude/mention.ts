/** Sends references to files to the CLI. The CLI inserts each reference into its prompt as `@path#L1-2`. */
import { basename, relative } from "node:path";
import type { FileReference, Mention } from "../http/client.ts";

/** Maximum number of references that are sent together. In tests, the CLI has always received this many. */
const MAX_REFERENCES = 10;

/**
 * Matches paths that work without quotes in a prompt of Claude Code 2.1.330. The CLI does not quote the paths that it
 * inserts. A path without quotes ends at a blank or "#", and loses punctuation at its end.
 */
const READABLE = /^[^\s"#\p{Cc}]*[\p{L}\p{N}_]$/u;

/**
 * Prepares the insertion of references into the CLI's prompt.
 * @param notify sends a notification
 * @returns undefined if the bridge must type the references into the terminal instead
 */
export function mentionOf(
  references: readonly FileReference[],
  cwd: string,
  notify: (method: string, params: Record<string, unknown>) => void,
): Mention | undefined {
  const last = references.at(-1);
  const isReadable = ({ path }: FileReference) => READABLE.test(relative(cwd, path));
  if (!last || references.length > MAX_REFERENCES || !references.every(isReadable)) return undefined;
  return {
    // The CLI may know its directory by another path, so only the end of each reference is predictable.
    shows: basename(last.path) + suffixOf(last),
    insert() {
      for (const { path, lines } of references) {
        const range = lines && { lineStart: lines[0] - 1, lineEnd: lines[1] - 1 };
        notify("at_mentioned", { filePath: path, ...range });
      }
    },
  };
}

function suffixOf({ lines }: FileReference): string {
  if (!lines) return "";
  const [first, last] = lines;
  return first === last ? `#L${first}` : `#L${first}-${last}`;
}
