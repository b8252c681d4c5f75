/** Converts the context to `selection_changed`, which names only the active file. */
import type { SharedContext } from "../http/client.ts";

/** 0-based, characters in UTF-16 units. */
interface Position {
  line: number;
  character: number;
}

/** An empty path clears the CLI's last selection. */
export interface SelectionChanged {
  text: string;
  filePath: string;
  fileUrl: string;
  selection: { start: Position; end: Position; isEmpty: boolean };
}

const zeroBased = ({ line, character }: Position): Position => ({ line: line - 1, character: character - 1 });

export function selectionOf({
  context,
  selected,
}: Pick<SharedContext, "context" | "selected">): SelectionChanged {
  const file = context.workspaceState?.openFiles?.find(({ isActive }) => isActive);
  const { path = "", selectedText: text = "" } = file ?? {};
  // Without a selection, the CLI uses only the path. A constant position avoids a message for each movement of the
  // cursor.
  const range =
    text !== "" && selected ? selected : { start: { line: 1, character: 1 }, end: { line: 1, character: 1 } };
  const selection = { start: zeroBased(range.start), end: zeroBased(range.end), isEmpty: text === "" };
  return { text, filePath: path, fileUrl: path === "" ? "" : `file://${path}`, selection };
}
