/** Connects a client to the MCP server for the model, and starts language servers. */
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type CallToolResult, CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import type { RunningBridge } from "./bridge.ts";
import { root } from "./nvim.ts";
import type { Scope } from "./scope.ts";

export interface EditorClient {
  mcp: Client;
  call(name: string, args?: Record<string, unknown>): Promise<CallToolResult>;
  /**
   * Calls a tool, and returns the text of the answer.
   * @throws if the answer is an error
   */
  text(name: string, args?: Record<string, unknown>): Promise<string>;
  /** Calls a tool that must fail, and returns the text of the error. */
  refusal(name: string, args?: Record<string, unknown>): Promise<string>;
}

/** Connects the client of the MCP SDK to the MCP server for the model. */
export async function connectEditorClient(
  t: Scope,
  bridge: Pick<RunningBridge, "file">,
): Promise<EditorClient> {
  const { port, content } = bridge.file();
  const mcp = new Client({ name: "test", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/neovim`), {
    requestInit: { headers: { Authorization: `Bearer ${content.authToken}` } },
  });
  t.teardown(() => mcp.close());
  await mcp.connect(transport);
  return editorClient(mcp);
}

export function editorClient(mcp: Client): EditorClient {
  const call = (name: string, args: Record<string, unknown> = {}) =>
    mcp.request({ method: "tools/call", params: { name, arguments: args } }, CallToolResultSchema);
  const said = ({ content }: CallToolResult) =>
    content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  return {
    mcp,
    call,
    async text(name, args) {
      const result = await call(name, args);
      if (result.isError) throw new Error(`${name} failed: ${said(result)}`);
      return said(result);
    },
    async refusal(name, args) {
      const result = await call(name, args);
      if (!result.isError) throw new Error(`${name} did not fail: ${said(result)}`);
      return said(result);
    },
  };
}

/** Returns Lua for init.lua that starts the tests' own language server for JavaScript. */
export function languageServer(mode = "normal", delay = 0): string {
  const command = [process.execPath, join(root, "test/support/language-server.mjs"), mode, String(delay)];
  return serverFor("test", "javascript", command);
}

/** Returns Lua for init.lua that starts a language server with diagnostics of files that are not open. */
export function workspaceServer(mode = "whole"): string {
  const command = [process.execPath, join(root, "test/support/workspace-server.mjs"), mode];
  return serverFor("workspace", "javascript", command);
}

/** Returns Lua for init.lua that starts the real language server for TypeScript. */
export function typescriptServer(): string {
  const modules = join(root, "node_modules");
  const command = [process.execPath, join(modules, "typescript-language-server/lib/cli.mjs"), "--stdio"];
  const tsserver = { path: join(modules, "typescript/lib/tsserver.js") };
  const preferences = { providePrefixAndSuffixTextForRename: false };
  return serverFor("ts", "typescript", command, { tsserver, preferences });
}

function serverFor(name: string, filetype: string, command: readonly string[], options = {}): string {
  return `
    vim.api.nvim_create_autocmd("FileType", {
      pattern = ${JSON.stringify(filetype)},
      callback = function(args)
        vim.lsp.start({
          name = ${JSON.stringify(name)},
          cmd = vim.json.decode(${JSON.stringify(JSON.stringify(command))}),
          init_options = vim.json.decode(${JSON.stringify(JSON.stringify(options))}),
          root_dir = vim.fn.getcwd(),
        }, { bufnr = args.buf })
      end,
    })`;
}
