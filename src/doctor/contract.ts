/**
 * Defines the JSON between Lua and the doctor: Lua writes facts about Neovim to the doctor's standard input, and reads
 * the report from its standard output. The other side is lua/gemini-bridge/report/doctor.lua.
 */
import * as z from "zod";
import { Clis } from "../contract/clis.ts";
import { list, map } from "../contract/list.ts";
import { ClientInfo, Status } from "../contract/status.ts";

/** The bridge: the fields of `Status` that the doctor needs. The host may be older, so that fields may be missing. */
const Bridge = Status.pick({ state: true, error: true, build: true }).extend({
  port: z.int().default(0),
  pid: z.int().default(0),
  /** The file of Gemini CLI is the first, if this CLI is enabled. */
  discoveryFiles: list(z.string()).default([]),
  workspace: list(z.string()).default([]),
  clients: list(
    ClientInfo.pick({ name: true, label: true, version: true, port: true }).extend({
      interrupted: z.boolean().default(false),
      hooks: z.boolean().default(false),
      hooksOff: z.string().optional(),
    }),
  ).default([]),
  /** `name` is the name that the client itself reports. */
  toolClients: list(z.object({ name: z.string(), version: z.string() })).default([]),
  obstacles: map(z.string()).default({}),
});
export type Bridge = z.infer<typeof Bridge>;

/** State of the remote plugin, which the option `host = "shared"` needs. */
const RemotePlugin = z.object({
  /** Whether the plugin is registered in this Neovim. */
  isRegistered: z.boolean(),
  /** Whether the plugin is in the manifest that Neovim reads at its start. */
  isInManifest: z.boolean(),
  /** Whether the user has disabled the standard Node host. */
  isDisabled: z.boolean(),
  /** Path of the standard Node host, from the npm package `neovim` or `g:node_host_prog`. */
  host: z.string().optional(),
});
export type RemotePlugin = z.infer<typeof RemotePlugin>;

/** The gate of a CLI: whether the CLI must ask before every edit. */
const Gate = z.object({
  /** Name of the profile. */
  cli: z.string(),
  isOn: z.boolean(),
  /** Whether every connected CLI of the profile asks before every edit while the gate is on. */
  isObeyed: z.boolean(),
  /** Whether `:GeminiGate on` would fail, because no connected CLI would ask before an edit. */
  isRefused: z.boolean(),
});
export type Gate = z.infer<typeof Gate>;

/**
 * Facts about the Neovim that runs the doctor. Neovim's environment is not included, because the doctor inherits it.
 */
export const Facts = z.object({
  version: z.string(),
  pid: z.int().positive(),
  /** Current directory. */
  cwd: z.string(),
  /** The option `clis`. `cmd` is the command line that `:Gemini cli=…` runs. */
  clis: Clis.default([]),
  /** Whether the sources were changed after the build. */
  isStale: z.boolean(),
  /**
   * The last lines of each of Neovim's terminals. `pid` is the program in the terminal: a CLI or, for example, the shell
   * in which the CLI runs.
   */
  terminals: list(z.object({ pid: z.int(), lines: z.array(z.string()) })).default([]),
  gates: list(Gate).default([]),
  /** State of the remote plugin; only with `host = "shared"`. */
  remotePlugin: RemotePlugin.optional(),
  bridge: Bridge,
});
export type Facts = z.infer<typeof Facts>;

/** A finding in one line, with advice for the user. */
export interface Item {
  level: "ok" | "info" | "warn" | "error";
  text: string;
  advice?: string;
}

export interface Section {
  title: string;
  items: Item[];
}

export interface Report {
  sections: Section[];
}
