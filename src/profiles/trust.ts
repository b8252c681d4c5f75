/** Which directories Gemini CLI trusts (0.61.0, `checkPathTrust`); in another one it is on its guard. */
import { dirname, join } from "node:path";
import stripJsonComments from "strip-json-comments";
import * as z from "zod";
import { readSmallFile } from "../system/small-file.ts";
import type { Variables } from "../system/system.ts";
import { contains } from "./announced-editors.ts";
import { userDirectory } from "./cli.ts";

const Folders = z.record(z.string(), z.enum(["TRUST_FOLDER", "TRUST_PARENT", "DO_NOT_TRUST"]));

/**
 * Whether a directory is not to be trusted. Of one that nobody has said anything about the CLI asks when it starts.
 * @param asks whether the settings have the CLI ask, instead of trusting all
 */
export function isFolderDistrusted(env: Variables, cwd: string, asks: boolean): boolean {
  if (env["GEMINI_RESTRICTED_MODE"] === "true" || env["GEMINI_CLI_TRUST_WORKSPACE"] === "false") return true;
  if (env["GEMINI_CLI_TRUST_WORKSPACE"] === "true" || !asks) return false;
  const path = env["GEMINI_CLI_TRUSTED_FOLDERS_PATH"] || join(userDirectory(env), "trustedFolders.json");
  const rules = Object.entries(readFolders(path))
    .filter(([folder, level]) => contains(level === "TRUST_PARENT" ? dirname(folder) : folder, cwd))
    .sort(([a], [b]) => b.length - a.length);
  return rules[0]?.[1] === "DO_NOT_TRUST";
}

function readFolders(path: string): z.infer<typeof Folders> {
  try {
    return Folders.parse(JSON.parse(stripJsonComments(readSmallFile(path)?.text ?? "{}")));
  } catch {
    return {}; // the CLI does not start with it, and says why
  }
}
