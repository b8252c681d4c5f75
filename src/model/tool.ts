/** CONTRACT 4: defines what a tool for the model consists of. */
import type { CallToolResult, ToolAnnotations } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import type { Log } from "../base/log.ts";
import type { Boot } from "../contract/neovim.ts";
import type { Editing } from "./edits-as-agent.ts";
import type { Ask } from "./neovim-questions.ts";
import { uriOf, type Workspace } from "./workspace.ts";

/** The context of one tool call or request. */
export interface CallContext {
  ask: Ask;
  workspace: Workspace;
  limits: Boot["answers"];
  editing: Editing;
  log: Log;
  /** Aborted when the client cancels the call or disconnects. */
  signal: AbortSignal;
  /** Sets the reason for waiting, such as "the user's decision", for progress notifications. */
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

export interface Tool {
  readonly name: string;
  /** The description of the tool for clients. */
  readonly config: {
    title: string;
    description: string;
    inputSchema: z.ZodType;
    annotations: ToolAnnotations;
  };
  run(args: unknown, context: CallContext): Promise<Answer>;
}

export const LineNumber = z.number().int().min(1).max(10_000_000);

/** Maximum number of links in a result. */
const MAX_LINKS = 20;

export function defineTool<S extends z.ZodRawShape>(definition: Definition<S>): Tool {
  const { name, title, description, run } = definition;
  const inputSchema = z.object(definition.input);
  const annotations = { openWorldHint: false, ...definition.annotations };
  return {
    name,
    config: { title, description, inputSchema, annotations },
    run: (args, context) => run(inputSchema.parse(args), context),
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
