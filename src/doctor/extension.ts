/** Checks whether the extension is installed in a CLI. Reads the file that the CLI writes at the installation. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import * as z from "zod";
import { expand } from "../profiles/discovery-paths.ts";
import type { Profile } from "../profiles/profiles.ts";
import { readJson } from "../system/small-file.ts";
import type { Findings } from "./findings.ts";

const NAME = "gemini-bridge";
const Link = z.object({ source: z.string(), type: z.string() });

export function checkExtension(findings: Findings, profile: Profile): void {
  const { name, label } = profile;
  const install = name === "gemini" ? ":GeminiExtension install" : `:GeminiExtension install ${name}`;
  const outside = hasDefaults(profile) ? `if ${label} runs outside of Neovim, ` : "";
  const link = readLink(profile);
  if (link === undefined)
    findings.info(
      `The extension is not installed in ${label}: ${outside}its model has no tools of Neovim, and :GeminiChanges ` +
        `does not list its edits. To install it: ${install}`,
    );
  else if (link.type === "link" && !existsSync(link.source))
    findings.warn(`The extension in ${label} is a link to ${link.source}, which does not exist`, install);
  else findings.ok(`The extension is installed in ${label}, from ${link.source}`);
}

/** Whether a CLI that Neovim starts gets hooks and tools without the extension. */
function hasDefaults({ defaults }: Profile): boolean {
  return defaults?.isRootsOnly !== true || process.getuid?.() === 0;
}

function readLink({ settings: { files, folder } }: Profile): z.infer<typeof Link> | undefined {
  const home = dirname(expand(files[0] ?? ""));
  return readJson(join(home, "extensions", NAME, `${folder}-extension-install.json`), Link);
}
