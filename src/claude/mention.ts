/** Converts references to files to `at_mentioned`, which inserts each into the CLI's prompt as `@path#L1-2`. */
import { basename, relative } from "node:path";
import type { FileReference, Mention } from "../http/client.ts";

/** Maximum number of references that were seen to arrive at once. */
const MAX_REFERENCES = 10;

/**
 * Paths that Claude Code 2.1.330 reads after it has inserted them. Quotes, which it needs for others, it does not
 * insert: it ends a path at a blank or "#", and drops punctuation at its end.
 */
const READABLE = /^[^\s"#\p{Cc}]*[\p{L}\p{N}_]$/u;

/**
 * @param notify sends a notification
 * @returns undefined if the references have to be typed
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
    // The CLI may use another path of its directory, so that only the end of the reference is predictable.
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
