/**
 * The CLIs of the companion protocol: what differs between them is data, which Lua reads, too, in profiles.json. It was
 * read in, and run with, Gemini CLI 0.61.0 and Qwen Code 0.24.4, and read in LLxprt Code 0.11.0.
 */
import { basename, dirname, join } from "node:path";
import * as z from "zod";
import KNOWN from "../../lua/gemini-bridge/config/profiles.json" with { type: "json" };
import { CliKind, type Clis } from "../contract/clis.ts";
import { here } from "../system/here.ts";
import type { Variables } from "../system/system.ts";

/** A settings file over which all others win. */
const SystemDefaults = z.object({
  /** Names the file. */
  variable: z.string(),
  /** Names the administrator's settings, beside which the file is otherwise. */
  settings: z.string(),
  /** Where those are when nothing names them, by system. */
  directory: z.object({ darwin: z.string(), linux: z.string() }),
  /** The CLI believes the file only where nobody but root can change it. */
  isRootsOnly: z.boolean(),
});
type SystemDefaults = z.infer<typeof SystemDefaults>;

/** Its own settings. The keys are paths of names, separated by dots. */
const Settings = z.object({
  /** The user's: the first of these that is there. See src/profiles/paths.ts. */
  files: z.array(z.string()),
  /** The folder of a project's, and of the user's in the home directory. */
  folder: z.string(),
  /** Whether it connects to editors. */
  ide: z.string(),
  /** In which mode it asks before it writes; the command line's `--approval-mode` wins. */
  approval: z.string().optional(),
});

const Profile = z.object({
  name: z.string(),
  /** What the user knows it as. */
  label: z.string(),
  /** Its program. */
  cmd: z.array(z.string()).min(1),
  /** Arguments of `:Gemini`, unless the user gives others for the same. */
  args: z.array(z.string()),
  /** Where npm has it. */
  package: z.string().optional(),
  /** Where every editor's discovery files are. See src/profiles/paths.ts. */
  directory: z.string(),
  /** The name of a discovery file, with the editor's process, `{pid}`, and the server's port, `{port}`. */
  file: z.string(),
  /** What it wants of a discovery file's content: see src/contract/companion.ts. */
  content: z.enum(["plain", "lock"]),
  /** The beginning of the names of its variables. */
  env: z.string(),
  /** The rest of the names of those that lead it to another editor than the port does. */
  blank: z.array(z.string()),
  settings: Settings,
  /** The mode in which it is when nothing says another: only in "default" a diff opens. */
  approval: z.enum(["default", "auto"]),
  /** To its question whether to connect. "Yes" looks for an extension of the editor's in some, and there is none. */
  answer: z.enum(["Yes", "No"]),
  /** After "yes" in its terminal it writes what it proposed, not what the user has edited here. */
  dropsEdits: z.boolean().default(false),
  /**
   * It finds an editor only by the process above its shell, and so needs one. Where there is none, it takes its
   * variables if these are there, too.
   */
  byProcess: z.record(z.string(), z.string()).optional(),
  /** The oldest major version of Node that runs it, where that is newer than this plugin's. */
  node: z.int().optional(),
  defaults: SystemDefaults.optional(),
});

export interface Profile extends z.infer<typeof Profile> {
  /** The known CLI that it is, or is a descendant of. */
  like: CliKind;
}

const known = new Map(
  KNOWN.map((each) => [each.name, { ...Profile.parse(each), like: CliKind.parse(each.name) }]),
);

function profileOf(name: CliKind): Profile {
  const profile = known.get(name);
  if (!profile) throw new Error(`profiles.json lacks ${name}`);
  return profile;
}

export const GEMINI = profileOf("gemini");

/** What is known, changed as the user says; all that is known where nobody has said anything. */
export function profilesOf(
  clis: Clis = [...known.values()].map(({ name, like, cmd }) => ({ name, like, cmd })),
) {
  return clis.map((changes): Profile => {
    const base = profileOf(changes.like);
    const isKnown = changes.name === base.name;
    const { label = isKnown ? base.label : changes.name, directory = base.directory } = changes;
    const { file = base.file, env = base.env, name, cmd } = changes;
    const profile = { ...base, name, cmd, label, directory, file, env, settings: settingsOf(changes, base) };
    if (isKnown) return profile;
    // What a descendant calls its own is not known.
    const { defaults: _, package: __, ...inherited } = profile;
    return inherited;
  });
}

/** A descendant in a folder of its own in the home directory has its settings there, too. */
function settingsOf({ directory, settings }: Clis[number], base: Profile): Profile["settings"] {
  const isOwn = directory !== undefined && !directory.startsWith("{tmp}");
  const home = isOwn ? dirname(directory) : undefined;
  const file = settings ?? (home === undefined ? undefined : `${home}/settings.json`);
  if (file === undefined) return base.settings;
  return { ...base.settings, files: [file], folder: basename(dirname(file)) };
}

/** Where a CLI with this environment looks for the administrator's settings, and for the system defaults. */
export function systemPaths(
  { settings, variable, directory }: SystemDefaults,
  env: Variables,
): { settings: string; defaults: string } {
  const path = env[settings] || join(directory[here.name], "settings.json");
  return { settings: path, defaults: env[variable] || join(dirname(path), "system-defaults.json") };
}
