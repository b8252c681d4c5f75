/** What language servers know of a symbol. */
import * as z from "zod";
import { beginning } from "../format.ts";
import { hoverText, placesOf } from "../lsp.ts";
import { describePlaces } from "../places.ts";
import { askAboutSymbol } from "../servers.ts";
import { defineTool, type Tool } from "../tool.ts";

export const symbolInput = {
  path: z.string().describe("The file that mentions it"),
  line: z.number().int().min(1).max(10_000_000).describe("The line, from 1"),
  symbol: z.string().min(1).max(500).describe("Its name, as it stands on that line"),
};

function placesTool(
  name: string,
  what: { title: string; description: string; method: string; noun: string; more?: Record<string, unknown> },
): Tool {
  const { title, description, method, noun, more = {} } = what;
  return defineTool({
    name,
    title,
    description,
    input: symbolInput,
    annotations: { readOnlyHint: true },
    async run(args, scene) {
      const symbol = { ...args, path: await scene.workspace.file(args.path) };
      const { answered, remarks } = await askAboutSymbol(method, symbol, more, scene);
      const places = answered.flatMap(({ server, result }) =>
        placesOf(result).map((place) => ({ ...place, server })),
      );
      return describePlaces(places, { noun, remarks }, scene);
    },
  });
}

export const definition = placesTool("definition", {
  title: "Definition",
  description:
    "Where the symbol that is named on a line of a file is defined, as the language server knows it.",
  method: "textDocument/definition",
  noun: "definition",
});

export const references = placesTool("references", {
  title: "References",
  description:
    "All places in the workspace that refer to the symbol that is named on a line of a file, as the language server " +
    "knows them: more exact than a search for its text.",
  method: "textDocument/references",
  noun: "reference",
  more: { context: { includeDeclaration: true } },
});

export const implementations = placesTool("implementations", {
  title: "Implementations",
  description: "Where the interface or method that is named on a line of a file is implemented.",
  method: "textDocument/implementation",
  noun: "implementation",
});

export const hover = defineTool({
  name: "hover",
  title: "Type and documentation",
  description: "Type, signature and documentation of the symbol that is named on a line of a file.",
  input: symbolInput,
  annotations: { readOnlyHint: true },
  async run(args, scene) {
    const symbol = { ...args, path: await scene.workspace.file(args.path) };
    const { answered, remarks } = await askAboutSymbol("textDocument/hover", symbol, {}, scene);
    const texts = answered.map(({ result }) => hoverText(result)).filter((text) => text !== "");
    const found =
      texts.length > 0 ? texts : answered.length > 0 ? [`Nothing is known of ${args.symbol}.`] : [];
    const text = [beginning(found.join("\n\n"), scene.limits.units), ...remarks].join("\n").trim();
    return { text, structured: { texts } };
  },
});
