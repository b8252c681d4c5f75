/**
 * Registers MCP prompts: built-in prompts, and those that the user has configured. CLIs offer prompts as slash
 * commands, such as `/fix`.
 */
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import * as z from "zod";
import { Refusal } from "../base/refusal.ts";
import type { Boot } from "../contract/neovim.ts";
import type { Read } from "./resources.ts";
import type { CallContext } from "./tool.ts";
import { describeSelection } from "./tools/buffers.ts";
import { describe, everywhere } from "./tools/diagnostics.ts";

interface Prompt {
  description: string;
  text: string;
  /** Error message for the case that there are no diagnostics. */
  refusal?: string;
}

/** Functions that return the text for each placeholder of a prompt. */
const FILLINGS: Record<
  string,
  (path: string | undefined, context: CallContext, prompt: Prompt) => Promise<string>
> = {
  diagnostics: async (path, context, { refusal }) => {
    const files =
      path === undefined ? await everywhere(context) : { paths: [await context.workspace.file(path)] };
    const { text, total } = await describe(files, context);
    if (total === 0 && refusal !== undefined) throw new Refusal(refusal);
    return text;
  },
  selection: async (_, context) => (await describeSelection(context)).text,
};

const OWN: Record<string, Prompt> = {
  fix: {
    description: "Fix the problems that language servers report",
    refusal: "Neovim has no diagnostics here: there is nothing to fix",
    text: "Fix these problems. Afterwards call the tool diagnostics with settle, and go on until none is left.\n\n{diagnostics}",
  },
  explain: {
    description: "Explain the selection, or the code at the cursor",
    text: "Explain this code: what it does, why, and what to watch out for. Change nothing.\n\n{selection}",
  },
  review: {
    description: "Review a file, or the open files",
    text: "Review {path} as a careful colleague would: errors first, each with file and line, then what could be simpler. Change nothing; when you have findings, put them into the tool quickfix.\n\n{diagnostics}",
  },
  test: {
    description: "Write tests for the selection or a file",
    text: "Write tests for {path}, in the way in which this project tests. Run them, and check them with the tool diagnostics.\n\n{selection}",
  },
};

/** Replaces all placeholders in a single pass, because an inserted text may contain something like a placeholder. */
async function fill(prompt: Prompt, path: string | undefined, context: CallContext): Promise<string> {
  const fillings = new Map([["path", path ?? "what is shown here"]]);
  for (const [name, filling] of Object.entries(FILLINGS))
    if (prompt.text.includes(`{${name}}`)) fillings.set(name, await filling(path, context, prompt));
  return prompt.text.replace(/\{(\w+)\}/g, (placeholder, name) => fillings.get(name) ?? placeholder);
}

/** Registers all prompts. @param own prompts of the user, which replace built-in prompts with the same name */
export function registerPrompts(server: McpServer, own: Boot["options"]["prompts"], read: Read): void {
  const argsSchema = { path: z.string().optional().describe("A file; without it, what is open or selected") };
  const prompts: Record<string, Prompt> = { ...OWN, ...own };
  for (const [name, prompt] of Object.entries(prompts)) {
    const { description } = prompt;
    server.registerPrompt(name, { title: name, description, argsSchema }, ({ path }, caller) =>
      read(`prompt ${name}`, caller, async (context) => ({
        // Puts everything into one message, because CLIs use only the first message.
        messages: [{ role: "user", content: { type: "text", text: await fill(prompt, path, context) } }],
      })),
    );
  }
}
