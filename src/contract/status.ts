/** What Lua is told of the bridge, so that asking for its status costs no round trip: a part of CONTRACT 1. */

/** What an agent is doing. */
export type Activity = "idle" | "working" | "waiting";

/** A connected CLI as the user sees it. `connectedAt` is Unix milliseconds. */
export interface ClientInfo {
  id: string;
  /** The name of its profile. */
  cli: string;
  /** What the user knows it as. */
  label: string;
  name: string;
  version: string;
  connectedAt: number;
  /** The CLI's end of its event stream's connection. The MCP server of its model has connections of its own. */
  port?: number | undefined;
  /**
   * Its session is that of a host before this one, and it noticed. Gemini CLI goes on reading it, so that no decision is
   * lost, but says "Disconnected" and asks for nothing until the user types `/ide enable`, which begins another session.
   */
  interrupted: boolean;
  /** What its agent is doing, as far as its hooks tell. */
  activity: Activity;
  /** A hook of this CLI was received. Without hooks its edits are neither tracked nor gated. */
  hooks: boolean;
  /** The name of the terminal of `:Gemini` that it runs in, as far as known. */
  terminal: string | undefined;
}

/** What connected CLIs are told now, and what is kept from them. */
export interface Shared {
  /** The user has paused sharing. */
  paused: boolean;
  /** Absolute paths of the open files, the last focused first. */
  files: string[];
  /** The one of them that the user looks at. */
  active: string | undefined;
  /** Length of the selected text in UTF-16 units. */
  selected: number | undefined;
  /** The file that the user looks at, when it is one that must not be shared. */
  excluded: string | undefined;
  /** Ignore files that cannot be used, and why: all below their folders is kept back. The first few. */
  unusable: { file: string; reason: string }[];
}

/** What a CLI in another terminal finds in Neovim's directory. */
export interface Editors {
  count: number;
  /** The process of the one that it takes. */
  pid: number;
  /** It takes this Neovim. */
  isOwn: boolean;
}

/** Pushed to Lua whenever it changes, so that `status()` needs no round trip. */
export interface Status {
  state: "starting" | "running" | "stopping" | "stopped";
  /** The plugin's own. */
  version?: string;
  /** What the host was built from, so that one that outlives an update is known. */
  build?: string;
  port?: number;
  /** Process id of the host. */
  pid?: number;
  /** One for each CLI that may come. */
  discoveryFiles?: string[];
  /** By CLI. Kept by Lua for the next host. */
  tokens?: Readonly<Record<string, string>>;
  workspace: string[];
  clients: ClientInfo[];
  /** A hook of any CLI was received, connected or not. */
  hooks?: boolean;
  /** Why a CLI in a terminal of Neovim's does not connect without a question, where that is so. */
  connection?: string | undefined;
  /** While a CLI is connected. */
  shared?: Shared | undefined;
  /** How many tools models have called. */
  calls?: number;
  /** Whose models can ask it now: the names that the clients give themselves. */
  asking?: { name: string; version: string }[];
  /** As of when the user asked last. */
  editors?: Editors | undefined;
  /** Why a start failed. */
  error?: string;
}
