/** Builds the settings by which CLIs in Neovim's terminals find the MCP server `neovim`. */
import { join } from "node:path";
import type { Profile } from "./profiles.ts";
import type { RawSettings } from "./system-defaults.ts";

/**
 * A part of the default settings. The CLI expands the variables, so that the token is not written to a file.
 * @param extension the path of the folder extension/
 * @param trust whether the model may call read-only tools without asking
 */
export function editorSettings(
  { like, env }: Pick<Profile, "like" | "env">,
  extension: string,
  trust: boolean,
): RawSettings {
  const neovim = {
    httpUrl: `http://127.0.0.1:$${env}SERVER_PORT/neovim`,
    headers: { Authorization: `Bearer $${env}AUTH_TOKEN` },
  };
  const policies = trust && like === "gemini" ? { policyPaths: [join(extension, "read-only.toml")] } : {};
  return { mcpServers: { neovim }, ...policies };
}
