/** How a CLI in Neovim's terminals is told of the server for the model. */
import { join } from "node:path";
import type { Profile } from "./profiles.ts";
import type { RawSettings } from "./system-defaults.ts";

/**
 * A part of its default settings. The CLI fills in the variables; the token stands in no file.
 * @param extension the path of the folder extension/
 * @param trust whether the tools that only read are to be called without a question
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
