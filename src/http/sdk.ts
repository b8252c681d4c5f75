/**
 * Exports the parts of the MCP SDK that the host uses. Loaded only after the start, because the SDK takes time to build
 * hundreds of schemas. Also exports the bridge's sessions, because they use the SDK.
 */
export { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
export {
  isInitializeRequest,
  isJSONRPCRequest,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
export { createConnection } from "./session.ts";
