import { join } from "node:path";
import { root } from "./nvim.ts";
import { writeFiles } from "./sandbox.ts";

/** Links the extension of this checkout, as `gemini extensions link` does: the next CLI in this home has it. */
export function linkExtension(home: string): void {
  const link = { source: join(root, "extension"), type: "link" };
  writeFiles(home, {
    ".gemini/extensions/gemini-bridge/.gemini-extension-install.json": JSON.stringify(link),
  });
}
