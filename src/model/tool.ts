/** CONTRACT 4: defines what a tool for the model consists of. */
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { CallToolResult, ToolAnnotations } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import type { Boot } from "../contract/neovim.ts";
import type { Editing } from "./edits-as-agent.ts";
import type { Ask } from "./neovim-questions.ts";
import type { Caller } from "./progress.ts";
import { uriOf, type Workspace } from "./workspace.ts";

/** The context of one tool call or request. */
export interface CallContext {
  ask: Ask;
  workspace: Workspace;
  limits: Boot["tools"]["limits"];
  editing: Editing;
  /** Aborted when the client cancels the call or disconnects. */
  signal: AbortSignal;
  /**
   * Sets the reason for waiting, such as "the user's decision". Progress notifications report this reason to the
   * client.
   */
  waitsFor(what: string): void;
}

export interface Answer {
  /** The answer for the model, in a few lines. */
  text: string;
  /** The same data as `text`, for programs. */
  structured?: Record<string, unknown>;
  /** Absolute paths of files that the answer mentions. */
  links?: readonly string[];
  /** Complete or partial text of a file. */
  embedded?: { path: string; text: string };
}

interface Definition<S extends z.ZodRawShape> {
  name: string;
  title: string;
  description: string;
  input: S;
  annotations: ToolAnnotations & { readOnlyHint: boolean };
  run(args: z.infer<z.ZodObject<S>>, context: CallContext): Promise<Answer>;
}

/** Runs a tool for a caller. @returns the result for the client, even if the tool fails */
type Perform = (caller: Caller, run: (context: CallContext) => Promise<Answer>) => Promise<CallToolResult>;

export interface Tool {
  readonly name: string;
  register(server: McpServer, perform: Perform): void;
}

/** Maximum number of links in a result. */
const MAX_LINKS = 20;

export function defineTool<S extends z.ZodRawShape>(definition: Definition<S>): Tool {
  const { name, title, description, annotations, run } = definition;
  const input = z.object(definition.input);
  return {
    name,
    register(server, perform) {
      const inputSchema: z.ZodType = input;
      server.registerTool(
        name,
        { title, description, inputSchema, annotations: { openWorldHint: false, ...annotations } },
        (args: unknown, caller) => perform(caller, (context) => run(input.parse(args), context)),
      );
    },
  };
}

/** Converts an answer to the result of an MCP tool. */
export function resultOf(
  { text, structured, links = [], embedded }: Answer,
  workspace: Workspace,
): CallToolResult {
  const unique = [...new Set(links)].slice(0, MAX_LINKS);
  return {
    content: [
      { type: "text", text },
      ...(embedded
        ? [
            {
              type: "resource" as const,
              resource: { uri: uriOf(embedded.path), mimeType: "text/plain", text: embedded.text },
            },
          ]
        : []),
      ...unique.map((path) => ({
        type: "resource_link" as const,
        uri: uriOf(path),
        name: workspace.name(path),
      })),
    ],
    ...(structured && { structuredContent: structured }),
  };
}
