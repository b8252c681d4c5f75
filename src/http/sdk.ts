/**
 * What needs the MCP SDK at run time. It is imported when the first client is expected, after the start, as
 * its hundreds of schemas take time to build.
 */
export { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
export { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
export { createConnection } from "./session.ts";
