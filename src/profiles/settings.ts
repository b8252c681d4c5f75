/** Gemini CLI's settings files, in the order in which the CLI merges them (0.61.0, `loadSettings`). */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import stripJsonComments from "strip-json-comments";
import * as z from "zod";
import { Refusal } from "../base/refusal.ts";
import { insecurity } from "../system/secure.ts";
import { readSmallFile } from "../system/small-file.ts";
import type { Variables } from "../system/system.ts";
import { administratorsDirectory, homeDirectory, userDirectory } from "./cli.ts";
import { isFolderDistrusted } from "./trust.ts";

/** One wrong value does not take the others along: the CLI warns of it and goes on. */
const optional = <T extends z.ZodType>(schema: T) => schema.optional().catch(undefined);
const Names = optional(z.array(z.string()));

const Settings = z.object({
  ide: optional(z.object({ enabled: optional(z.boolean()), hasSeenNudge: optional(z.boolean()) })),
  general: optional(z.object({ defaultApprovalMode: optional(z.string()) })),
  tools: optional(
    z.object({
      /** The older name of `general.defaultApprovalMode`. */
      approvalMode: optional(z.string()),
      allowed: Names,
      confirmationRequired: Names,
      core: Names,
      exclude: Names,
    }),
  ),
  security: optional(
    z.object({
      disableAlwaysAllow: optional(z.boolean()),
      folderTrust: optional(z.object({ enabled: optional(z.boolean()) })),
    }),
  ),
  policyPaths: Names,
  adminPolicyPaths: Names,
});
export type Settings = z.infer<typeof Settings>;

export type Scope = "system" | "workspace" | "user" | "system defaults";

export interface SettingsFile {
  readonly scope: Scope;
  readonly path: string;
  /** Empty for a file that is not there, and for one that does not count. */
  readonly settings: Settings;
  /** Why it does not count, as the end of a sentence that begins with its path. */
  readonly problem?: string;
  /** The CLI does not start with it. */
  readonly isFatal?: boolean;
}

export interface CliSettings {
  /** Those that count, the strongest first. */
  readonly files: readonly SettingsFile[];
  /** Its directory is one that the CLI was told not to trust. */
  readonly isDistrusted: boolean;
}

/**
 * Reads what counts for a CLI with this environment in this directory. Variables inside of values stay as they are
 * written.
 */
export function readSettings(env: Variables, cwd: string): CliSettings {
  const system = readSecure("system", systemSettingsPath(env));
  const user = read("user", join(userDirectory(env), "settings.json"));
  const defaults = readSecure("system defaults", systemDefaultsPath(env));
  const others = [system, user, defaults];
  const asks = setting(others, ({ security }) => security?.folderTrust?.enabled)?.value ?? true;
  const isDistrusted = isFolderDistrusted(env, cwd, asks);
  if (isDistrusted || isSame(cwd, homeDirectory(env))) return { files: others, isDistrusted };
  const workspace = read("workspace", join(cwd, ".gemini/settings.json"));
  return { files: [system, workspace, user, defaults], isDistrusted };
}

function systemSettingsPath(env: Variables): string {
  return env["GEMINI_CLI_SYSTEM_SETTINGS_PATH"] || join(administratorsDirectory(), "settings.json");
}

/** Where a CLI with this environment looks for the settings that all others win over. */
export function systemDefaultsPath(env: Variables): string {
  return (
    env["GEMINI_CLI_SYSTEM_DEFAULTS_PATH"] || join(dirname(systemSettingsPath(env)), "system-defaults.json")
  );
}

/** The strongest file that says something, and what it says. */
export function setting<T>(
  files: readonly SettingsFile[],
  pick: (settings: Settings) => T | undefined,
): { value: T; path: string } | undefined {
  for (const { path, settings } of files) {
    const value = pick(settings);
    if (value !== undefined) return { value, path };
  }
  return undefined;
}

function read(scope: Scope, path: string): SettingsFile {
  try {
    const file = readSmallFile(path);
    return { scope, path, settings: file ? parse(file.text) : {} };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { scope, path, settings: {}, problem, isFatal: true };
  }
}

/** A file of the system counts only where nobody but root can change it. */
function readSecure(scope: Scope, path: string): SettingsFile {
  const reason = existsSync(path) ? insecurity(path) : undefined;
  return reason === undefined
    ? read(scope, path)
    : { scope, path, settings: {}, problem: `does not count: ${reason}` };
}

function parse(text: string): Settings {
  try {
    return Settings.parse(JSON.parse(stripJsonComments(text)));
  } catch (error) {
    throw new Refusal("is no JSON object", { cause: error });
  }
}

function isSame(directory: string, other: string): boolean {
  try {
    return realpathSync(directory) === realpathSync(other);
  } catch {
    return false;
  }
}
