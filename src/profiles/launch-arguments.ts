/**
 * Builds arguments and environment variables for a CLI that `:Gemini` starts. They give the CLI its hooks and the MCP
 * server `neovim`. The CLI merges them with the user's own settings; no file is written. The command line contains the
 * name of a variable instead of the token.
 */
import { findProgram } from "../system/program.ts";
import { claudeHooks, quoted } from "./hooks.ts";
import type { Profile } from "./profiles.ts";

/**
 * Builds the arguments for a CLI that takes its configuration on the command line.
 * @param hookScript path of extension/hooks/hook.sh
 */
export function launchArguments({ like, env }: Pick<Profile, "like" | "env">, hookScript: string): string[] {
  if (like !== "claude") return [];
  const neovim = {
    type: "http",
    url: `http://127.0.0.1:\${${env}SERVER_PORT}/neovim`,
    headers: { Authorization: `Bearer \${${env}AUTH_TOKEN}` },
    // Keeps the tools out of the CLI's tool search, in which the model would have to find them first.
    alwaysLoad: true,
  };
  const hooks = findProgram("bash", process.env)
    ? claudeHooks(quoted(hookScript), env.replace(/_$/, ""))
    : {};
  return [
    `--settings=${JSON.stringify(hooks)}`,
    `--mcp-config=${JSON.stringify({ mcpServers: { neovim } })}`,
  ];
}

/**
 * Builds the environment variables for a CLI that does not take its configuration on the command line. The user's own
 * variables with these names take precedence.
 */
export function launchVariables({ like, env }: Pick<Profile, "like" | "env">): Record<string, string> {
  if (like !== "opencode") return {};
  const neovim = {
    type: "remote",
    url: `http://127.0.0.1:{env:${env}SERVER_PORT}/neovim`,
    headers: { Authorization: `Bearer {env:${env}AUTH_TOKEN}` },
  };
  return {
    // Empty on purpose: if this variable contained a port, opencode 1.18.33 would not read the lock file, and would
    // send no token.
    CLAUDE_CODE_SSE_PORT: "",
    OPENCODE_CONFIG_CONTENT: JSON.stringify({ mcp: { neovim } }),
  };
}
