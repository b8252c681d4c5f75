/** Implements tools that ask language servers about a symbol. */
import * as z from "zod";
import { beginning } from "../format.ts";
import { askAboutSymbol } from "../language-servers.ts";
import { describePlaces } from "../listed-places.ts";
import { hoverText, placesOf } from "../lsp-answers.ts";
import { defineTool, LineNumber, type Tool } from "../tool.ts";

export const symbolInput = {
  path: z.string().describe("The file that mentions the symbol"),
  line: LineNumber.describe("The line, from 1"),
  symbol: z.string().min(1).max(500).describe("The name, as on that line"),
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
    async run(args, context) {
      const { answered, remarks } = await askAboutSymbol(method, args, more, context);
      const places = answered.flatMap(({ server, result }) =>
        placesOf(result).map((place) => ({ ...place, server })),
      );
      return describePlaces(places, { noun, remarks }, context);
    },
  });
}

export const definition = placesTool("definition", {
  title: "Definition",
  description: "Where a symbol on a line of a file is defined, according to the language server.",
  method: "textDocument/definition",
  noun: "definition",
});

export const references = placesTool("references", {
  title: "References",
  description:
    "All references in the workspace to a symbol on a line of a file, according to the language server: more exact than " +
    "a text search.",
  method: "textDocument/references",
  noun: "reference",
  more: { context: { includeDeclaration: true } },
});

export const implementations = placesTool("implementations", {
  title: "Implementations",
  description: "Where an interface or method on a line of a file is implemented.",
  method: "textDocument/implementation",
  noun: "implementation",
});

export const hover = defineTool({
  name: "hover",
  title: "Type and documentation",
  description: "Type, signature and documentation of a symbol on a line of a file.",
  input: symbolInput,
  annotations: { readOnlyHint: true },
  async run(args, context) {
    const { answered, remarks } = await askAboutSymbol("textDocument/hover", args, {}, context);
    const texts = answered.map(({ result }) => hoverText(result)).filter((text) => text !== "");
    const found =
      texts.length > 0 ? texts : answered.length > 0 ? [`No information about ${args.symbol}.`] : [];
    const text = [beginning(found.join("\n\n"), context.limits.units), ...remarks].join("\n").trim();
    return { text, structured: { texts } };
  },
});
