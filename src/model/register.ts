/** What is offered to a client: tools, resources and prompts. */
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { Refusal } from "../base/refusal.ts";
import type { Boot } from "../contract/neovim.ts";
import type { Offer, Sdk } from "../http/sessions.ts";
import { INSTRUCTIONS } from "./instructions.ts";
import { registerPrompts } from "./prompts.ts";
import { type Read, registerResources } from "./resources.ts";
import { resultOf } from "./tool.ts";
import { TOOLS } from "./tools/index.ts";

export const EDITOR_OFFER: Offer = {
  name: "neovim",
  title: "Neovim",
  options: {
    capabilities: { tools: {}, resources: { subscribe: true, listChanged: true }, prompts: {} },
    instructions: INSTRUCTIONS,
  },
};

export interface Choice {
  /** Names of tools; all without it. */
  offered?: readonly string[] | undefined;
  /** The user's own. */
  prompts: Boot["prompts"];
}

/** What answers a client. Both fail with a {@link Refusal}. */
export interface Answering {
  /** For prompts and resources: the user asks for these, and CLIs list them by themselves. */
  read: Read;
  /** For tools, which only the model calls. */
  callTool: Read;
}

/**
 * @param subscribed told when those URIs are others
 * @returns the URIs to which the client has subscribed, as they change
 */
export function register(
  server: McpServer,
  sdk: Sdk,
  choice: Choice,
  { read, callTool }: Answering,
  subscribed = () => {},
): ReadonlySet<string> {
  for (const tool of TOOLS.filter(({ name }) => choice.offered?.includes(name) ?? true)) {
    tool.register(server, (act) =>
      orReason(callTool(`tool ${tool.name}`, async (scene) => resultOf(await act(scene), scene.workspace))),
    );
  }
  registerPrompts(server, choice.prompts, read);
  return registerResources(server, sdk, read, subscribed);
}

/** To a model a failed tool is an answer, too. */
async function orReason(result: Promise<CallToolResult>): Promise<CallToolResult> {
  try {
    return await result;
  } catch (error) {
    const text = error instanceof Refusal ? error.message : String(error);
    return { isError: true, content: [{ type: "text", text }] };
  }
}
