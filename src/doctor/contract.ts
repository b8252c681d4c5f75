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
  /** Whether the remote plugin is registered in this Neovim; only with `host = "shared"`. */
  isRegistered: z.boolean().optional(),
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
