/** Lazy-loads the MCP SDK. Its hundreds of schemas take time to build, so that it is imported after the start. */
export { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
export {
  isInitializeRequest,
  isJSONRPCRequest,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
export { createConnection } from "./session.ts";
