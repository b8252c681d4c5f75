/**
 * Reads the settings files of a CLI, in the order in which the CLI merges them (Gemini CLI 0.61.0, `loadSettings`; Qwen
 * Code does the same). Also reads files that the CLI ignores because the user does not trust their directory.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import stripJsonComments from "strip-json-comments";
import * as z from "zod";
import { Refusal } from "../base/refusal.ts";
import { platform } from "../system/platform.ts";
import { insecurity } from "../system/root-only-file.ts";
import { readSmallFile } from "../system/small-file.ts";
import type { Variables } from "../system/system.ts";
import { expand } from "./discovery-paths.ts";
import { type Profile, systemPaths } from "./profiles.ts";

/** The whole content of a settings file, including unknown keys. */
const RawSettings = z.record(z.string(), z.unknown());
export type RawSettings = z.infer<typeof RawSettings>;

export interface SettingsFile {
  readonly path: string;
  /** Content of the file. Empty if the file is missing or has a problem. */
  readonly settings: RawSettings;
  /** Problem with the file, as the end of a sentence that begins with the path: "is not a JSON object". */
  readonly problem?: string;
  /** Whether the CLI ignores a file with this problem. Otherwise, the CLI refuses to start. */
  readonly isIgnored?: boolean;
}

/**
 * Reads the settings of a CLI that runs with this environment in this directory. Does not expand variables in values.
 * @returns the settings files, those with higher priority first
 */
export function readSettings(
  { settings, defaults }: Pick<Profile, "settings" | "defaults">,
  env: Variables,
  cwd: string,
): SettingsFile[] {
  const candidates = settings.files.map((path) => expand(path, env));
  const user = candidates.find((path) => existsSync(path)) ?? candidates[0] ?? "";
  const project = settings.project.map((name) => join(cwd, settings.folder, name));
  const managed = settings.managed ? [settings.managed[platform.name]] : [];
  const own = [...new Set([...managed, ...project, user])].map(readSettingsFile);
  if (!defaults) return own;
  const system = systemPaths(defaults, env);
  const readSystem = (path: string) => (defaults.isRootsOnly ? readSecure(path) : readSettingsFile(path));
  return [readSystem(system.settings), ...own, readSystem(system.defaults)];
}

/** Returns the value of a key such as "ide.enabled", from the first file with a valid value. */
export function setting<T>(
  files: readonly SettingsFile[],
  key: string,
  schema: z.ZodType<T>,
): { value: T; path: string } | undefined {
  for (const { path, settings } of files) {
    const { success, data } = schema.safeParse(at(settings, key.split(".")));
    if (success) return { value: data, path };
  }
  return undefined;
}

/**
 * Finds a setting that turns off the bridge's hooks.
 * @returns key, value and file of the setting, as the end of a sentence; undefined if there is no such setting
 */
export function findHooksOff(
  { hooksOff }: Pick<Profile, "hooksOff">,
  files: readonly SettingsFile[],
): string | undefined {
  for (const { key, value } of hooksOff) {
    const said = typeof value === "boolean" ? setting(files, key, z.boolean()) : undefined;
    if (said?.value === value) return `${key} is ${value} in ${said.path}`;
    const lists = files.map((file) => setting([file], key, z.array(z.unknown())));
    const list = lists.find((each) => each?.value.includes(value));
    if (list) return `${key} contains "${value}" in ${list.path}`;
  }
  return undefined;
}

function at(value: unknown, [name, ...names]: readonly string[]): unknown {
  if (name === undefined) return value;
  const group = RawSettings.safeParse(value);
  return group.success && Object.hasOwn(group.data, name) ? at(group.data[name], names) : undefined;
}

/** Reads one settings file, which may contain comments. A missing file counts as empty. */
export function readSettingsFile(path: string): SettingsFile {
  try {
    const text = readSmallFile(path)?.text ?? "{}";
    return { path, settings: RawSettings.parse(JSON.parse(stripJsonComments(text))) };
  } catch (error) {
    return { path, settings: {}, problem: error instanceof Refusal ? error.message : "is not a JSON object" };
  }
}

/** Reads a system settings file. The CLI ignores such a file if any user but root can change it. */
function readSecure(path: string): SettingsFile {
  const reason = existsSync(path) ? insecurity(path) : undefined;
  if (reason === undefined) return readSettingsFile(path);
  return { path, settings: {}, problem: `is ignored by the CLI: ${reason}`, isIgnored: true };
}
