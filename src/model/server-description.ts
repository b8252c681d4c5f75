/**
 * Describes the MCP server of the editor. The stdio program answers with this description when no editor is connected.
 */
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Refusal } from "../base/refusal.ts";
import { prepare } from "../http/sessions.ts";
import { EDITOR_OFFER, register } from "./register.ts";

const LISTS = ["tools/list", "prompts/list", "resources/templates/list"] as const;

/** Returns the server's answers by method: to `initialize`, and to requests for lists that never change. */
export async function describeOffer(version: string): Promise<Record<string, unknown>> {
  const sdk = await prepare();
  const { options, ...names } = EDITOR_OFFER;
  const server = new sdk.McpServer({ ...names, version }, options);
  const refuse = () => Promise.reject(new Refusal("Neovim is not connected"));
  register(server, sdk, { prompts: {} }, { read: refuse, callTool: refuse });
  const [client, transport] = InMemoryTransport.createLinkedPair();
  await server.connect(transport);
  const ask = (method: string, params: Record<string, unknown>): Promise<unknown> =>
    new Promise((resolve) => {
      client.onmessage = (message) => resolve("result" in message ? message.result : undefined);
      void client.send({ jsonrpc: "2.0", id: method, method, params });
    });
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "build", version } };
  const offer: Record<string, unknown> = { initialize: await ask("initialize", params) };
  for (const method of LISTS) offer[method] = await ask(method, {});
  return offer;
}
