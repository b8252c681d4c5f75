/**
 * What the doctor and Lua tell each other: Lua writes what it knows of Neovim to the doctor's standard input, the
 * doctor a report to its standard output, both as JSON. The other side is lua/gemini-bridge/report/doctor.lua.
 */
import * as z from "zod";
import { Clis } from "../contract/clis.ts";

/** Of the bridge; an empty list is left out, since Lua cannot tell it from an empty table. */
const Bridge = z.object({
  state: z.enum(["starting", "running", "stopping", "stopped"]),
  /** Why it is stopped. */
  error: z.string().optional(),
  port: z.int().default(0),
  /** The host's process. */
  pid: z.int().default(0),
  /** The first is Gemini CLI's, unless that is switched off. */
  discoveryFiles: z.array(z.string()).default([]),
  workspace: z.array(z.string()).default([]),
  clients: z
    .array(
      z.object({
        name: z.string(),
        label: z.string(),
        version: z.string(),
        port: z.int().optional(),
        interrupted: z.boolean().default(false),
        hooks: z.boolean().default(false),
      }),
    )
    .default([]),
  /** Whose models have the tools, as they name themselves. */
  asking: z.array(z.object({ name: z.string(), version: z.string() })).default([]),
  /** What the running host was built from. */
  build: z.string().optional(),
  /** Why a CLI in a terminal here does not connect without a question. */
  connection: z.string().optional(),
});
export type Bridge = z.infer<typeof Bridge>;

/** The remote plugin of `host = "shared"`. */
const RemotePlugin = z.object({
  /** It is registered in this Neovim. */
  isRegistered: z.boolean(),
  /** It is in the manifest that Neovim reads when it starts. */
  isInManifest: z.boolean(),
  /** The user has turned the standard Node host off. */
  isDisabled: z.boolean(),
  /** Where that host is: in the npm package `neovim`, or where `g:node_host_prog` says. */
  host: z.string().optional(),
});
export type RemotePlugin = z.infer<typeof RemotePlugin>;

/** The gate of a CLI that can have one. */
const Gate = z.object({
  /** The name of its profile. */
  cli: z.string(),
  isOn: z.boolean(),
  /** Every connected CLI of that profile asks while the gate is on. */
  isObeyed: z.boolean(),
  /** `:GeminiGate on` would refuse, since no connected CLI would ask. */
  isRefused: z.boolean(),
});
export type Gate = z.infer<typeof Gate>;

/** The Neovim that asks. Its environment is the doctor's own. */
export const Facts = z.object({
  version: z.string(),
  pid: z.int().positive(),
  /** Its current directory. */
  cwd: z.string(),
  /** Those of the option `clis`, each with the command line of `:Gemini cli=…`. */
  clis: Clis.default([]),
  /** Whether the sources were changed after the build. */
  isStale: z.boolean(),
  /** The end of what its terminals show, each with the program's process. */
  terminals: z.array(z.object({ pid: z.int(), lines: z.array(z.string()) })).default([]),
  gates: z.array(Gate).default([]),
  /** With `host = "shared"` only. */
  remotePlugin: RemotePlugin.optional(),
  bridge: Bridge,
});
export type Facts = z.infer<typeof Facts>;

/** A finding in one line, with what to do about it. */
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
