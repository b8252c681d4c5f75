/** Lists all tools for the model, in the order of `tools/list`. */
import type { Tool } from "../tool.ts";
import { applyCodeAction, codeActions } from "./actions.ts";
import { buffers, readBufferTool, selection } from "./buffers.ts";
import { diagnostics } from "./diagnostics.ts";
import { format, rename } from "./edit.ts";
import { definition, hover, implementations, references } from "./language.ts";
import { symbols, workspaceSymbols } from "./symbols.ts";
import { openFile, quickfix } from "./view.ts";

export const TOOLS: readonly Tool[] = [
  diagnostics,
  symbols,
  workspaceSymbols,
  definition,
  references,
  implementations,
  hover,
  buffers,
  readBufferTool,
  selection,
  openFile,
  quickfix,
  rename,
  codeActions,
  applyCodeAction,
  format,
];
