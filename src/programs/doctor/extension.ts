/** Whether CLIs outside of Neovim's terminals have the model's server: the extension, as the CLI has recorded it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { userDirectory } from "../../cli/cli.ts";
import { readSmallFile } from "../../cli/small-file.ts";
import type { Findings } from "./section.ts";

const NAME = "gemini-bridge";
const Link = z.object({ source: z.string(), type: z.string() });

export function checkExtension(findings: Findings): void {
  const link = readLink();
  if (link === undefined)
    findings.info(
      "The extension is not installed in Gemini CLI: outside of Neovim's terminals its model has no tools of the " +
        "editor, and its edits are not followed; :GeminiExtension install",
    );
  else if (link.type === "link" && !existsSync(link.source))
    findings.warn(
      `The extension in Gemini CLI leads to ${link.source}, which is gone`,
      ":GeminiExtension install",
    );
  else findings.ok(`The extension is installed in Gemini CLI, from ${link.source}`);
}

function readLink(): z.infer<typeof Link> | undefined {
  const path = join(userDirectory(process.env), "extensions", NAME, ".gemini-extension-install.json");
  try {
    return Link.parse(JSON.parse(readSmallFile(path)?.text ?? ""));
  } catch {
    return undefined;
  }
}
