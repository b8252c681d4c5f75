/**
 * Exports the parts of the MCP SDK that are loaded after the start, because the SDK takes time to build hundreds of
 * schemas. Includes our sessions, which use the SDK.
 */
export { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
export {
  isInitializeRequest,
  isJSONRPCRequest,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
export { createConnection } from "./session.ts";
