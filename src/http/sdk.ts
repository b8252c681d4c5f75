/**
 * Everything of MCP that is imported after the start, because the SDK takes time to build its hundreds of schemas: the SDK
 * and our sessions, which use it.
 */
export { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
export {
  isInitializeRequest,
  isJSONRPCRequest,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
export { createConnection } from "./session.ts";
