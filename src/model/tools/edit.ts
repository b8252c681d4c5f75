/** Implements tools that edit files with the help of a language server. */
import * as z from "zod";
import { Refusal } from "../../base/refusal.ts";
import { type Answered, askAboutSymbol, askServers, type Replies } from "../language-servers.ts";
import { defineTool } from "../tool.ts";
import { applyEdits, editsAt, formatEdits, workspaceEdits } from "../workspace-edit.ts";
import { symbolInput } from "./language.ts";

export const EDITS = { readOnlyHint: false, destructiveHint: true };

/**
 * Returns the first answer with a result, otherwise the first answer.
 * @throws {Refusal} if no language server has answered
 */
export function firstOf({ answered, remarks }: Replies): Answered {
  const found = answered.find(({ result }) => result !== null && result !== undefined) ?? answered[0];
  if (!found) throw new Refusal(remarks.join("\n"));
  return found;
}

const NewName = z
  .string()
  .regex(/^[^\p{Cc}]{1,500}$/u, "must be one line of at most 500 characters")
  .describe("Its new name");

export const rename = defineTool({
  name: "rename",
  title: "Rename a symbol",
  description:
    "Renames the symbol that is named on a line of a file, everywhere in the workspace, as the language server knows " +
    "it. Writes the files; the user can undo it.",
  input: { ...symbolInput, new_name: NewName },
  annotations: EDITS,
  async run({ new_name: newName, ...args }, context) {
    const { server, result, moment } = firstOf(
      await askAboutSymbol("textDocument/rename", args, { newName }, context, true),
    );
    return applyEdits(await workspaceEdits(result, moment, context), server, context);
  },
});

export const format = defineTool({
  name: "format",
  title: "Format a file",
  description: "Formats a file with the language server's formatter. Writes the file; the user can undo it.",
  input: { path: z.string().describe("The file") },
  annotations: { ...EDITS, idempotentHint: true },
  async run(args, context) {
    const { ask, workspace, limits } = context;
    const path = await workspace.file(args.path);
    const method = "textDocument/formatting";
    const document = await ask("document", { path, method, timeout: limits.timeout });
    const { servers, attached, tick, tabSize, insertSpaces } = document;
    const [server] = servers;
    if (!server) {
      const reason = attached === 0 ? "No language server is attached to" : "No language server can format";
      return { text: `${reason} ${workspace.label(path)}.`, structured: { files: [] } };
    }
    const params = () => ({ textDocument: {}, options: { tabSize, insertSpaces } });
    const { result, moment } = firstOf(
      await askServers([server], { method, path, params, isEdit: true }, context),
    );
    const edits = formatEdits(result);
    return applyEdits(
      edits.length > 0 ? [editsAt(moment, { path, tick, steps: [edits] })] : [],
      server,
      context,
    );
  },
});
