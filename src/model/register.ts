/** Registers tools, resources and prompts for a client of the MCP server. */
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { Boot } from "../contract/neovim.ts";
import type { Offer, Sdk } from "../http/sessions.ts";
import { registerPrompts } from "./prompts.ts";
import { type Read, registerResources } from "./resources.ts";
import { resultOf, type Tool } from "./tool.ts";
import { applyCodeAction, codeActions } from "./tools/actions.ts";
import { buffers, readBufferTool, selection } from "./tools/buffers.ts";
import { diagnostics } from "./tools/diagnostics.ts";
import { format, rename } from "./tools/edit.ts";
import { definition, hover, implementations, references } from "./tools/language.ts";
import { symbols, workspaceSymbols } from "./tools/symbols.ts";
import { openFile, quickfix } from "./tools/view.ts";

/** All tools, in the order of `tools/list`. */
const TOOLS: readonly Tool[] = [
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

/** Instructions for the model, in addition to the descriptions of the tools. */
export const INSTRUCTIONS = `Neovim is the editor that the user works in. Its tools show what files on disk do not, such as diagnostics and unsaved text.
After you have edited a file, call diagnostics with its path and settle: true before you say that you are done.
To find where a symbol is defined or used, prefer definition, references and workspace_symbols to a search for text.
When the user says "this", "here" or "what I selected", call selection.
A file with unsaved changes (see buffers) reads differently on disk: use read_buffer for it.
Paths are relative to the workspace, lines count from 1, and a symbol is given by its name as it stands on that line.`;

export const EDITOR_OFFER: Offer = {
  name: "neovim",
  title: "Neovim",
  options: {
    capabilities: { tools: {}, resources: { subscribe: true, listChanged: true }, prompts: {} },
    instructions: INSTRUCTIONS,
  },
};

interface Choice {
  /** Names of the tools to register. Default: all tools. */
  offered?: readonly string[] | undefined;
  /** Prompts that the user has configured. */
  prompts: Boot["options"]["prompts"];
}

/** Functions that answer requests of a client. They fail only with a {@link Refusal}. */
interface Answering {
  /**
   * Answers requests for prompts and resources. Such requests come from the user, or from a CLI that lists prompts and
   * resources.
   */
  read: Read;
  /** Answers tool calls. Such calls come only from the model. */
  callTool: Read;
}

/**
 * Registers all tools, resources and prompts.
 * @param subscribed called when the client has changed its subscriptions
 * @returns a live set of the URIs to which the client has subscribed
 */
export function register(
  server: McpServer,
  sdk: Sdk,
  choice: Choice,
  { read, callTool }: Answering,
  subscribed = () => {},
): ReadonlySet<string> {
  for (const { name, config, run } of TOOLS) {
    if (choice.offered && !choice.offered.includes(name)) continue;
    // The SDK converts a Refusal to an answer that the model can read.
    server.registerTool(name, config, (args: unknown, caller) =>
      callTool(`tool ${name}`, caller, async (context) =>
        resultOf(await run(args, context), context.workspace),
      ),
    );
  }
  registerPrompts(server, choice.prompts, read);
  return registerResources(server, sdk, read, subscribed);
}
