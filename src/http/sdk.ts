/**
 * What needs the MCP SDK at run time. It is imported when the first client is expected, after the start, as
 * its hundreds of schemas take time to build.
 */
export { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
export {
  isInitializeRequest,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
export { createConnection } from "./session.ts";
