/**
 * Exports what the host uses of the MCP SDK. Loaded only after the start, because the SDK takes time to build hundreds
 * of schemas. Also exports our sessions, because they use the SDK.
 */
export { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
export {
  isInitializeRequest,
  isJSONRPCRequest,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
export { createConnection } from "./session.ts";
