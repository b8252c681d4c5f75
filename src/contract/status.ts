/** Defines the status of the bridge, which is pushed to Lua (part of CONTRACT 1). */

/** Activity of an agent. */
export type Activity = "idle" | "working" | "waiting";

/** A connected CLI. `connectedAt` is Unix milliseconds. */
export interface ClientInfo {
  id: string;
  /** Name of the profile. */
  cli: string;
  /** Name for the user. */
  label: string;
  name: string;
  version: string;
  connectedAt: number;
  /** The CLI's port of the connection of its event stream. */
  port?: number | undefined;
  /**
   * Whether the CLI has noticed the end of an earlier host. Gemini CLI continues to read its session, so that no
   * decision is lost, but shows "Disconnected" and sends nothing until `/ide enable` starts a new session.
   */
  interrupted: boolean;
  /** Activity of the agent, according to its hooks. */
  activity: Activity;
  /** Whether a hook of this CLI was received. Without hooks, its edits are neither tracked nor gated. */
  hooks: boolean;
  /** Name of the CLI's terminal of `:Gemini`, if known. */
  terminal: string | undefined;
}

/** What connected CLIs are told now, and what is withheld from them. */
export interface Shared {
  /** Whether the user has paused sharing. */
  paused: boolean;
  /** Absolute paths of the open files, the last focused first. */
  files: string[];
  /** Path of the active file. */
  active: string | undefined;
  /** Length of the selected text (UTF-16 units). */
  selected: number | undefined;
  /** Path of the active file if it must not be shared. */
  excluded: string | undefined;
  /** The first ignore files that cannot be used, with reasons. Everything below their folders is excluded. */
  unusable: { file: string; reason: string }[];
}

/** The editors that a CLI in another terminal finds in Neovim's directory. */
export interface Editors {
  count: number;
  /** Process of the editor that the CLI chooses. */
  pid: number;
  /** Whether the CLI chooses this Neovim. */
  isOwn: boolean;
}

/** The status, pushed on each change, so that `status()` needs no round trip. */
export interface Status {
  state: "starting" | "running" | "stopping" | "stopped";
  /** Version of the plugin. */
  version?: string;
  /** Identifies the build of the host, to detect a host that predates an update. */
  build?: string;
  port?: number;
  /** Process id of the host. */
  pid?: number;
  /** One for each kind of CLI. */
  discoveryFiles?: string[];
  /** Tokens by CLI, stored in Lua for the next host. */
  tokens?: Readonly<Record<string, string>>;
  workspace: string[];
  clients: ClientInfo[];
  /** Whether a hook of any CLI was received, connected or not. */
  hooks?: boolean;
  /** Reason why CLIs in Neovim's terminals ask before they connect, if they do. */
  connection?: string | undefined;
  /** Set while a CLI is connected. */
  shared?: Shared | undefined;
  /** Number of tool calls by models. */
  calls?: number;
  /** Names of the clients whose models can call tools. */
  asking?: { name: string; version: string }[];
  /** Result of the last `editors_asked`. */
  editors?: Editors | undefined;
  /** The reason for a failed start. */
  error?: string;
}
