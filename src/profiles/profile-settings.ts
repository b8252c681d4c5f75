/** What the settings files of any CLI say, by the keys of its profile. Of Gemini CLI src/profiles/settings.ts knows more. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import stripJsonComments from "strip-json-comments";
import * as z from "zod";
import { Refusal } from "../base/refusal.ts";
import { readSmallFile } from "../system/small-file.ts";
import type { Variables } from "../system/system.ts";
import { expand } from "./paths.ts";
import type { Profile } from "./profiles.ts";

const Settings = z.record(z.string(), z.unknown());

export interface ProfileSettings {
  /** Those that count, the strongest first. */
  readonly files: readonly { readonly path: string; readonly settings: z.infer<typeof Settings> }[];
  /** Those that cannot be read, and why, as the end of a sentence that begins with the path. */
  readonly broken: readonly { readonly path: string; readonly problem: string }[];
}

/** Reads what counts for a CLI with this environment in this directory. */
export function readProfileSettings(
  { settings, defaults }: Pick<Profile, "settings" | "defaults">,
  env: Variables,
  cwd: string,
): ProfileSettings {
  const users = settings.files.map((path) => expand(path, env));
  const user = users.find((path) => existsSync(path)) ?? users[0];
  const last = defaults && env[defaults.variable];
  const files: ProfileSettings["files"][number][] = [];
  const broken: ProfileSettings["broken"][number][] = [];
  for (const path of new Set([join(cwd, settings.folder, "settings.json"), user, last])) {
    if (!path) continue;
    try {
      const text = readSmallFile(path)?.text;
      if (text !== undefined)
        files.push({ path, settings: Settings.parse(JSON.parse(stripJsonComments(text))) });
    } catch (error) {
      broken.push({ path, problem: error instanceof Refusal ? error.message : "is no JSON object" });
    }
  }
  return { files, broken };
}

/** The strongest file that says something about a key, as "ide.enabled", and what it says. */
export function profileSetting<T>(
  { files }: ProfileSettings,
  key: string,
  schema: z.ZodType<T>,
): { value: T; path: string } | undefined {
  for (const { path, settings } of files) {
    const { success, data } = schema.safeParse(at(settings, key.split(".")));
    if (success) return { value: data, path };
  }
  return undefined;
}

function at(value: unknown, [name, ...names]: readonly string[]): unknown {
  if (name === undefined) return value;
  const group = Settings.safeParse(value);
  return group.success && Object.hasOwn(group.data, name) ? at(group.data[name], names) : undefined;
}
