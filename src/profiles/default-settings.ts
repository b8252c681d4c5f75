/** Builds the default settings for CLIs in Neovim's terminals. The user's own settings take precedence. */
import type { CliKind } from "../contract/clis.ts";
import { findProgram } from "../system/program.ts";
import { geminiHooks, quoted, qwenHooks } from "./hooks.ts";
import type { Profile } from "./profiles.ts";
import type { RawSettings } from "./settings.ts";

/** Makes a CLI connect at its start without asking the user. */
const CONNECT: RawSettings = { ide: { enabled: true, hasSeenNudge: true } };

/**
 * Functions that build the hooks for the default settings, by kind of CLI. CLIs of other kinds do not read hooks from
 * default settings.
 */
const HOOKS: Partial<Record<CliKind, typeof geminiHooks>> = { gemini: geminiHooks, qwen: qwenHooks };

/**
 * Builds the default settings of a CLI: the connection, the hooks, and the MCP server `neovim`. They contain a variable
 * in place of the token, and the CLI expands the variable. Therefore, no file contains the token.
 * @param hookScript path of extension/hooks/hook.sh
 */
export function defaultSettings(
  { like, env }: Pick<Profile, "like" | "env">,
  hookScript: string,
): RawSettings[] {
  const hooks = HOOKS[like];
  // Omits the hooks if bash is missing. CLIs run hooks in bash, and would show an error for each hook.
  const parts = hooks && findProgram("bash", process.env) ? [hooks(quoted(hookScript))] : [];
  const neovim = {
    httpUrl: `http://127.0.0.1:$${env}SERVER_PORT/neovim`,
    headers: { Authorization: `Bearer $${env}AUTH_TOKEN` },
  };
  return [CONNECT, ...parts, { mcpServers: { neovim } }];
}
