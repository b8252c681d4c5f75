/** Links the extension in Gemini CLI. */
import { join } from "node:path";
import { root } from "./nvim.ts";
import { writeFiles } from "./sandbox.ts";

/**
 * Links the extension of this checkout, as `gemini extensions link` does, for all CLIs with the given home directory.
 */
export function linkExtension(home: string): void {
  const link = { source: join(root, "extension"), type: "link" };
  writeFiles(home, {
    ".gemini/extensions/gemini-bridge/.gemini-extension-install.json": JSON.stringify(link),
  });
}
