/**
 * Describes the MCP server of the editor. The stdio program answers with this description when no editor is connected.
 */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { Refusal } from "../base/refusal.ts";
import { prepare } from "../http/sessions.ts";
import { EDITOR_OFFER, register } from "./register.ts";

const LISTS = ["tools/list", "prompts/list", "resources/templates/list"] as const;

/** A transport that sends one request at a time, and returns the answer. */
class Questions implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  #answer: (message: JSONRPCMessage) => void = () => {};

  async start(): Promise<void> {}
  async close(): Promise<void> {}
  async send(message: JSONRPCMessage): Promise<void> {
    this.#answer(message);
  }

  ask(id: number, method: string, params: Record<string, unknown>): Promise<unknown> {
    return new Promise((resolve) => {
      this.#answer = (message) => resolve("result" in message ? message.result : undefined);
      this.onmessage?.({ jsonrpc: "2.0", id, method, params });
    });
  }
}

/** Returns the server's answers by method: to `initialize`, and to requests for lists that never change. */
export async function describeOffer(version: string): Promise<Record<string, unknown>> {
  const sdk = await prepare();
  const { options, ...names } = EDITOR_OFFER;
  const server = new sdk.McpServer({ ...names, version }, options);
  const refuse = () => Promise.reject(new Refusal("Neovim is not connected"));
  register(server, sdk, { prompts: {} }, { read: refuse, callTool: refuse });
  const transport = new Questions();
  await server.connect(transport);
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "build", version } };
  const offer: Record<string, unknown> = { initialize: await transport.ask(0, "initialize", params) };
  for (const [index, method] of LISTS.entries()) offer[method] = await transport.ask(index + 1, method, {});
  return offer;
}
