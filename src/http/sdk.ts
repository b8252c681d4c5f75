/**
 * What needs the MCP SDK at run time. It is imported when the first client is expected, after the start: its
 * hundreds of schemas take 13 ms to build and hold 4 MB.
 */
export { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
export { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
export { createConnection } from "./session.ts";
