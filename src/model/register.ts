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

/**
 * @param run runs what is asked for; it fails with a {@link Refusal}
 * @param subscribed told when those URIs are others
 * @returns the URIs to which the client has subscribed, as they change
 */
export function register(
  server: McpServer,
  sdk: Sdk,
  choice: Choice,
  run: Read,
  subscribed = () => {},
): ReadonlySet<string> {
  for (const tool of TOOLS.filter(({ name }) => choice.offered?.includes(name) ?? true)) {
    tool.register(server, (act) =>
      orReason(run(`tool ${tool.name}`, async (scene) => resultOf(await act(scene), scene.workspace))),
    );
  }
  registerPrompts(server, choice.prompts, run);
  return registerResources(server, sdk, run, subscribed);
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
