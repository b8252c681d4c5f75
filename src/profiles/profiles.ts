/**
 * Defines the form of profiles. A profile describes how one kind of CLI differs from the others. The profiles are in
 * profiles.json, which Lua also reads. Sources: the code and runs of Gemini CLI 0.61.0 and Qwen Code 0.24.4, and the
 * code of LLxprt Code 0.11.0.
 */
import { basename, dirname, join } from "node:path";
import * as z from "zod";
import KNOWN from "../../lua/gemini-bridge/config/profiles.json" with { type: "json" };
import { CliKind, type Clis } from "../contract/clis.ts";
import { platform } from "../system/platform.ts";
import type { Variables } from "../system/system.ts";

/** The system defaults of a CLI: the settings file with the lowest priority. */
const SystemDefaults = z.object({
  /** Name of the environment variable that contains the path of the system defaults file. */
  variable: z.string(),
  /**
   * Name of the environment variable that contains the path of the administrator's settings file. By default, the
   * system defaults file is in the same directory.
   */
  settings: z.string(),
  /** Default directory of the administrator's settings, by operating system. */
  directory: z.object({ darwin: z.string(), linux: z.string() }),
  /** Whether the CLI uses the system defaults only if nobody but root can change the file. */
  isRootsOnly: z.boolean().default(false),
});
type SystemDefaults = z.infer<typeof SystemDefaults>;

/** The CLI's own settings. `ide` is a key with dots, such as "ide.enabled". */
const Settings = z.object({
  /**
   * Paths of the user's settings, in the form that src/profiles/discovery-paths.ts expands. The first existing file
   * counts.
   */
  files: z.array(z.string()),
  /** Name of the settings folder in a project and in the home directory. */
  folder: z.string(),
  /** Names of the settings files in the folder of a project, those with higher priority first. */
  project: z.array(z.string()).default(["settings.json"]),
  /** Path of the administrator's settings, by operating system. Only for CLIs without system defaults. */
  managed: z.object({ darwin: z.string(), linux: z.string() }).optional(),
  /** Key of the setting for IDE mode: whether the CLI connects to editors. */
  ide: z.string(),
});

const Profile = z.object({
  name: z.string(),
  /** Name of the CLI for the user. */
  label: z.string(),
  /** Command that runs the CLI. */
  cmd: z.array(z.string()).min(1),
  /**
   * Default arguments of `:Gemini`. If the user gives an argument with the same name, the user's argument replaces the
   * default.
   */
  args: z.array(z.string()),
  /** Name of the CLI's npm package. */
  package: z.string().optional(),
  /** Directory of the discovery files, in the form that src/profiles/discovery-paths.ts expands. */
  directory: z.string(),
  /** Name of a discovery file, with `{pid}` for the editor's process id and `{port}` for the port. */
  file: z.string(),
  /** Format of a discovery file: see src/discovery/content.ts. */
  content: z.enum(["plain", "lock", "socket"]),
  /** First part of the names of the CLI's environment variables. */
  env: z.string(),
  /** Last parts of the names of variables that would lead the CLI to another editor. */
  blank: z.array(z.string()).default([]),
  settings: Settings,
  /**
   * Folders in which the CLI writes for itself, such as plans and memory, in the form that
   * src/profiles/discovery-paths.ts expands. Files there are no changes of the user's project.
   */
  ownFolders: z.array(z.string()).default([]),
  /** Names of the CLI's ignore files. The CLI does not read the files that they exclude. */
  ignoreFiles: z.array(z.string()).default([]),
  /**
   * Answer to the CLI's question whether to connect. In some CLIs, "Yes" tries to install an extension that does not
   * exist.
   */
  answer: z.enum(["Yes", "No"]),
  /**
   * Whether the CLI's question about a proposal answers no key after the editor has gone. The editor must then reject
   * the proposal before it ends.
   */
  hangsWithoutEditor: z.boolean().default(false),
  /**
   * Set if the CLI considers the process above its shell its editor. If this process has no discovery file, the CLI
   * uses the port in its environment. The environment must then also contain these variables with these values.
   */
  byProcess: z.record(z.string(), z.string()).optional(),
  /** Set if the CLI connects by WebSocket. */
  socket: z
    .object({
      /** Client name that the CLI reports. Distinguishes CLIs that share a lock file. */
      client: z.string(),
      /** Name of the environment variable that contains the port. */
      variable: z.string().optional(),
      /** Whether the CLI can insert file references into its own prompt. */
      mentions: z.boolean().default(false),
    })
    .optional(),
  /** Whether the CLI opens its proposals as reviews in the editor. */
  reviews: z.boolean().default(true),
  /**
   * Settings that turn off the bridge's hooks: a key, and a value of the setting or an item of its list. All hooks of
   * the bridge have the name "neovim" if the CLI knows names of hooks.
   */
  hooksOff: z.array(z.object({ key: z.string(), value: z.union([z.boolean(), z.string()]) })).default([]),
  /** Form of the hook's answer that makes the CLI ask before an edit. Absent if no answer can make the CLI ask. */
  gate: z.enum(["decision", "permission"]).optional(),
  /** Arguments that make the CLI run unattended. No user can then answer its questions. */
  headless: z.array(z.string()).default([]),
  defaults: SystemDefaults.optional(),
});

export interface Profile extends z.infer<typeof Profile> {
  /** The known CLI itself, or the known CLI from which this CLI is derived. */
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

/**
 * Names of the ignore files of all known CLIs. They contain patterns, as a `.gitignore` does. Matching files in the
 * folder of an ignore file and below are not shared with any CLI.
 */
export const IGNORE_FILES: readonly string[] = [
  ...new Set([...known.values()].flatMap(({ ignoreFiles }) => ignoreFiles)),
];

const SOCKET_TOKEN = "/socket";

/**
 * Returns the name of a profile's token for WebSockets. The name of the token for hooks and tools is the name of the
 * profile.
 */
export const socketTokenOf = ({ name }: Pick<Profile, "name">): string => name + SOCKET_TOKEN;

/**
 * Finds the profile of a WebSocket client.
 * @param credential name of the client's token. CLIs that share a lock file have the same token
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

/** Returns the profiles for the user's option `clis`, derived from the known profiles. Default: all known profiles. */
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
    // Leaves out `defaults` and `package`: their values are unknown for a derived CLI.
    const { defaults: _, package: __, ...inherited } = profile;
    return inherited;
  });
}

/**
 * Returns a CLI's settings paths. A derived CLI may have its own folder in the home directory: its settings are then in
 * this folder.
 */
function settingsOf({ directory, settings }: Clis[number], base: Profile): Profile["settings"] {
  const isOwn = directory !== undefined && !directory.startsWith("{tmp}");
  const home = isOwn ? dirname(directory) : undefined;
  const file = settings ?? (home === undefined ? undefined : `${home}/settings.json`);
  if (file === undefined) return base.settings;
  return { ...base.settings, files: [file], folder: basename(dirname(file)) };
}

/** Returns the paths of the administrator's settings and of the system defaults, for a CLI with this environment. */
export function systemPaths(
  { settings, variable, directory }: SystemDefaults,
  env: Variables,
): { settings: string; defaults: string } {
  const path = env[settings] || join(directory[platform.name], "settings.json");
  return { settings: path, defaults: env[variable] || join(dirname(path), "system-defaults.json") };
}
