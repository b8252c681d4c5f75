/** Implements tools that list symbols of a file or of the workspace. */
import * as z from "zod";
import { type Answered, askAboutDocument, askServers } from "../language-servers.ts";
import { describePlaces, type Found } from "../listed-places.ts";
import { type CodeSymbol, symbolsOf } from "../lsp-answers.ts";
import { defineTool } from "../tool.ts";

function label({ kind, name, container }: CodeSymbol): string {
  return `${kind} ${[...container, name].join(".")}`;
}

function found(answered: readonly Answered[], path?: string): Found[] {
  return answered.flatMap(({ server, result }) =>
    symbolsOf(result, path).map((symbol) => ({ ...symbol, server, label: label(symbol) })),
  );
}

export const symbols = defineTool({
  name: "symbols",
  title: "Symbols of a file",
  description: "The outline of a file: classes, functions and so on, with their lines.",
  input: { path: z.string().describe("The file") },
  annotations: { readOnlyHint: true },
  async run(args, context) {
    const path = await context.workspace.file(args.path);
    const { answered, remarks } = await askAboutDocument("textDocument/documentSymbol", path, context);
    return describePlaces(found(answered, path), { noun: "symbol", remarks }, context);
  },
});

export const workspaceSymbols = defineTool({
  name: "workspace_symbols",
  title: "Symbols of the workspace",
  description: "Finds classes, functions and so on in the whole workspace by a part of the name.",
  input: { query: z.string().min(1).max(500).describe("A part of the name") },
  annotations: { readOnlyHint: true },
  async run({ query }, context) {
    const method = "workspace/symbol";
    const { servers } = await context.ask("servers", { method });
    const { answered, remarks } = await askServers(servers, { method, params: () => ({ query }) }, context);
    if (servers.length === 0)
      remarks.push("No running language server can search the workspace: open a file of the language first.");
    return describePlaces(found(answered), { noun: "symbol", remarks }, context);
  },
});
