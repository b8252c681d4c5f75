/** CONTRACT 4: how a tool for the model is defined. */
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { CallToolResult, ToolAnnotations } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import type { Editing } from "./as-agent.ts";
import type { Ask } from "./ask.ts";
import type { Caller } from "./progress.ts";
import { uriOf, type Workspace } from "./workspace.ts";

/** How much of what there is goes into an answer. */
export interface Limits {
  /** Diagnostics, places, symbols. */
  items: number;
  /** UTF-16 units of text. */
  units: number;
  /** How long language servers may take (milliseconds). */
  timeout: number;
}

/** What a tool works with: one moment's view of Neovim. */
export interface Scene {
  ask: Ask;
  workspace: Workspace;
  limits: Limits;
  editing: Editing;
  /** Aborted when the client cancels the call or is gone. */
  signal: AbortSignal;
  /** Notes what the client is told if the call takes long. */
  waitsFor(what: string): void;
}

export interface Answer {
  /** For the model: the answer in a few lines. */
  text: string;
  /** The same for programs. */
  structured?: Record<string, unknown>;
  /** Absolute paths of files that the answer is about. */
  links?: readonly string[];
  /** A part of a file that belongs to the answer. */
  embedded?: { path: string; text: string };
}

export interface Definition<S extends z.ZodRawShape> {
  name: string;
  title: string;
  description: string;
  input: S;
  annotations: ToolAnnotations & { readOnlyHint: boolean };
  run(args: z.infer<z.ZodObject<S>>, scene: Scene): Promise<Answer>;
}

/** Runs a tool in a scene. @returns what goes to the client, also when it fails */
export type Perform = (caller: Caller, run: (scene: Scene) => Promise<Answer>) => Promise<CallToolResult>;

export interface Tool {
  readonly name: string;
  readonly isReadOnly: boolean;
  register(server: McpServer, perform: Perform): void;
}

/** Links beyond these say no more than the text does. */
const MAX_LINKS = 20;

export function defineTool<S extends z.ZodRawShape>(definition: Definition<S>): Tool {
  const { name, title, description, annotations, run } = definition;
  const input = z.object(definition.input);
  return {
    name,
    isReadOnly: annotations.readOnlyHint,
    register(server, perform) {
      const inputSchema: z.ZodType = input;
      server.registerTool(
        name,
        { title, description, inputSchema, annotations: { openWorldHint: false, ...annotations } },
        (args: unknown, caller) => perform(caller, (scene) => run(input.parse(args), scene)),
      );
    },
  };
}

/** An answer in the form in which it travels. */
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
