/** Defines the data that Lua sends to a new host (part of CONTRACT 1). Lua sends some fields again when they change. */
import * as z from "zod";
import { Clis } from "./clis.ts";
import { list, map } from "./list.ts";
import { Memory } from "./memory.ts";

/**
 * The directories that are open in Neovim: the current directories (global, of tabs, of windows), or the user's own
 * list.
 */
export const Workspace = z.object({ directories: list(z.string()) });

/** Whether CLIs ask the user before every edit. `clis` overrides `all` for single CLIs. */
export const Gate = z.object({
  all: z.boolean(),
  clis: map(z.boolean()),
});

export const Boot = z.object({
  /**
   * Id of the process that a CLI in `:terminal` considers its editor. With a terminal UI, this is Neovim's parent
   * process.
   */
  idePid: z.number().int().positive(),
  /** Process id of Neovim. */
  editorPid: z.number().int().positive(),
  logFile: z.string(),
  logLevel: z.enum(["debug", "info", "warn", "error"]),
  workspace: Workspace,
  /** Directory for the plugin's own files. Other users cannot write there. */
  stateDirectory: z.string(),
  /** Id of this Neovim process, valid as a file name. No other process ever gets the same id. */
  instance: z.string().regex(/^[\w-]+$/),
  /** Files that match these patterns are not shared. The syntax is that of a `.gitignore`. */
  exclude: list(z.string()),
  /** Whether nothing may be shared: the user has paused sharing, or has not allowed it yet. */
  paused: z.boolean(),
  /** Absolute path of the script that CLIs run as a hook. */
  hookScript: z.string(),
  gate: Gate,
  /** Whether CLIs in Neovim's terminals connect without asking the user. */
  connect: z.boolean(),
  /** Whether the host tells agents what the user has undone. */
  tellAgent: z.boolean(),
  /** The CLIs that can find this editor. */
  clis: Clis,
  /** Port and tokens of the previous host in this Neovim. Running CLIs and their hooks still use them. */
  port: z.number().int().optional(),
  tokens: z.record(z.string(), z.string()).optional(),
  /** The highest id of a review in this Neovim. */
  lastDiffId: z.number().int().nonnegative(),
  /** Limits of the server. `maxSessions`: number of clients. `grace`: milliseconds. `bodyLimit`: bytes. */
  server: z.object({
    maxSessions: z.number().int().positive(),
    grace: z.number().nonnegative(),
    bodyLimit: z.number().int().positive(),
  }),
  /** The option `tools.offered`, and limits of the tools. If `offered` is absent, the model gets all tools. */
  tools: z.object({
    offered: list(z.string()).optional(),
    /**
     * Limits of an answer: number of entries in a list, length of a text (UTF-16 units), and waiting time for language
     * servers (milliseconds).
     */
    limits: z.object({
      items: z.number().int().positive(),
      units: z.number().int().positive(),
      timeout: z.number().int().positive(),
    }),
  }),
  /** The user's own prompts, by name. */
  prompts: map(z.object({ description: z.string(), text: z.string() })),
  /** Data that the previous host has stored. Contains no reviews if that host was stopped on request. */
  memory: Memory.optional(),
  /** Time without a running host (ms). Absent for the first host of a Neovim. */
  downtime: z.number().nonnegative().optional(),
  /**
   * Number of notes that an earlier Neovim has stored. A note is a text of the user about lines of a file. Only the
   * first host of a Neovim gets a number above 0.
   */
  notes: z.number().int().nonnegative(),
  /** Decisions of the user that the previous host has not delivered to the CLI, as events (name and payload). */
  decisions: list(z.tuple([z.string(), z.unknown()])),
});
export type Boot = z.infer<typeof Boot>;
