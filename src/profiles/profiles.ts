/**
 * Defines the form of profiles, which describe the differences between CLIs. They are in profiles.json, which Lua also
 * reads. Sources: the code and runs of Gemini CLI 0.61.0 and Qwen Code 0.24.4, and the code of LLxprt Code 0.11.0.
 */
import { basename, dirname, join } from "node:path";
import * as z from "zod";
import KNOWN from "../../lua/gemini-bridge/config/profiles.json" with { type: "json" };
import { CliKind, type Clis } from "../contract/clis.ts";
import { platform } from "../system/platform.ts";
import type { Variables } from "../system/system.ts";

/** The system defaults of a CLI: the settings file with the lowest priority. */
const SystemDefaults = z.object({
  /** Variable with the path of the file. */
  variable: z.string(),
  /**
   * Variable with the path of the administrator's settings. By default, the system defaults are in the same directory.
   */
  settings: z.string(),
  /** Default directory of the administrator's settings, by system. */
  directory: z.object({ darwin: z.string(), linux: z.string() }),
  /** Whether the CLI uses the file only if nobody but root can change it. */
  isRootsOnly: z.boolean(),
});
type SystemDefaults = z.infer<typeof SystemDefaults>;

/** The CLI's own settings. `ide` and `approval` are keys with dots, such as "ide.enabled". */
const Settings = z.object({
  /** Paths of the user's settings, as in src/profiles/discovery-paths.ts. The first existing file counts. */
  files: z.array(z.string()),
  /** Folder of the settings in a project and in the home directory. */
  folder: z.string(),
  /** Key of the setting that decides whether the CLI connects to editors. */
  ide: z.string(),
  /** Key of the approval mode. `--approval-mode` on the command line takes precedence. */
  approval: z.string().optional(),
});

const Profile = z.object({
  name: z.string(),
  /** Name shown to the user. */
  label: z.string(),
  /** Command of the program. */
  cmd: z.array(z.string()).min(1),
  /** Default arguments of `:Gemini`. The user's arguments with the same names replace them. */
  args: z.array(z.string()),
  /** Name of the npm package. */
  package: z.string().optional(),
  /** Directory of the discovery files. See src/profiles/discovery-paths.ts. */
  directory: z.string(),
  /** Name of a discovery file, with `{pid}` for the editor's process id and `{port}` for the port. */
  file: z.string(),
  /** Format of a discovery file: see src/discovery/content.ts. */
  content: z.enum(["plain", "lock", "socket"]),
  /** Prefix of the environment variables. */
  env: z.string(),
  /** Suffixes of variables that would lead the CLI to another editor. */
  blank: z.array(z.string()),
  settings: Settings,
  /** Default approval mode. Diffs open only in "default". */
  approval: z.enum(["default", "auto"]),
  /** Answer to the CLI's question whether to connect. In some CLIs, "Yes" installs an extension that does not exist. */
  answer: z.enum(["Yes", "No"]),
  /** Whether the CLI drops the user's edits of a proposal if the user answers "yes" in the CLI's terminal. */
  dropsEdits: z.boolean().default(false),
  /**
   * Set if the CLI takes the process above its shell for its editor. If there is no such process, the CLI uses its
   * environment, but only if that contains these variables with these values.
   */
  byProcess: z.record(z.string(), z.string()).optional(),
  /** Set if the CLI connects by WebSocket. */
  socket: z
    .object({
      /** The name that the CLI reports. It distinguishes CLIs with the same lock file. */
      client: z.string(),
      /** Variable with the port. */
      variable: z.string().optional(),
      /** Whether the CLI inserts references into its own prompt. */
      mentions: z.boolean().default(false),
    })
    .optional(),
  /** Whether the CLI opens proposals as reviews. */
  reviews: z.boolean().default(true),
  /** The form of a hook's answer that makes the CLI ask before an edit. Absent if the CLI cannot be gated. */
  gate: z.enum(["decision", "permission"]).optional(),
  /** Arguments that make the CLI run unattended, so that no user can answer its questions. */
  headless: z.array(z.string()).default([]),
  /** Oldest major version of Node for this CLI, if newer than the plugin's. */
  node: z.int().optional(),
  defaults: SystemDefaults.optional(),
});

export interface Profile extends z.infer<typeof Profile> {
  /** The known CLI itself, or the known CLI from which this one is derived. */
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

const SOCKET_TOKEN = "/socket";

/** Returns the name of a profile's token for WebSockets. The token for hooks and tools has the name of the profile. */
export const socketTokenOf = ({ name }: Pick<Profile, "name">): string => name + SOCKET_TOKEN;

/**
 * Finds the profile of a WebSocket client.
 * @param credential the name of the client's token. CLIs with the same lock file have the same token
 * @param client the name that the client reports
 */
export function profileOfClient(
  profiles: readonly Profile[],
  credential: string,
  client: string,
): Profile | undefined {
  const ofToken = profiles.find(({ name }) => name === credential);
  if (ofToken?.socket?.client === client) return ofToken;
  return profiles.find(({ socket }) => socket?.client === client) ?? ofToken;
}

export const isSocketToken = (name: string): boolean => name.endsWith(SOCKET_TOKEN);

/** Returns the profiles for the user's option `clis`, based on the known profiles. Default: all known profiles. */
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
    // Leaves out `defaults` and `package`, because they are unknown for a derived CLI.
    const { defaults: _, package: __, ...inherited } = profile;
    return inherited;
  });
}

/**
 * Returns a CLI's settings. If a derived CLI has its own folder in the home directory, its settings are in that folder.
 */
function settingsOf({ directory, settings }: Clis[number], base: Profile): Profile["settings"] {
  const isOwn = directory !== undefined && !directory.startsWith("{tmp}");
  const home = isOwn ? dirname(directory) : undefined;
  const file = settings ?? (home === undefined ? undefined : `${home}/settings.json`);
  if (file === undefined) return base.settings;
  return { ...base.settings, files: [file], folder: basename(dirname(file)) };
}

/** Returns the paths of the administrator's settings and the system defaults, for a CLI with this environment. */
export function systemPaths(
  { settings, variable, directory }: SystemDefaults,
  env: Variables,
): { settings: string; defaults: string } {
  const path = env[settings] || join(directory[platform.name], "settings.json");
  return { settings: path, defaults: env[variable] || join(dirname(path), "system-defaults.json") };
}
