/**
 * Builds the arguments by which `:Gemini` gives a CLI its hooks and the MCP server `neovim`. The CLI merges them with
 * the user's own settings, and no file is written. The command line contains names of variables, never a token.
 */
import { findProgram } from "../system/program.ts";
import { claudeHooks, quoted } from "./hooks.ts";
import type { Profile } from "./profiles.ts";

/** @param hookScript the path of extension/hooks/hook.sh */
export function launchArguments({ like, env }: Pick<Profile, "like" | "env">, hookScript: string): string[] {
  if (like !== "claude") return [];
  const neovim = {
    type: "http",
    url: `http://127.0.0.1:\${${env}SERVER_PORT}/neovim`,
    headers: { Authorization: `Bearer \${${env}AUTH_TOKEN}` },
  };
  const hooks = findProgram("bash", process.env)
    ? claudeHooks(quoted(hookScript), env.replace(/_$/, ""))
    : {};
  return [
    `--settings=${JSON.stringify(hooks)}`,
    `--mcp-config=${JSON.stringify({ mcpServers: { neovim } })}`,
  ];
}
