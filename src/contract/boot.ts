/** Defines the data that Lua sends to a new host (part of CONTRACT 1). Lua sends some fields again when they change. */
import * as z from "zod";
import { Clis } from "./clis.ts";
import { list, map } from "./list.ts";
import { Memory } from "./memory.ts";
import { Sharing } from "./sharing.ts";

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

/** Port, tokens and stored state of the previous host in this Neovim. */
const Previous = z.object({
  /** Running CLIs and their hooks still use this port and these tokens. */
  port: z.number().int(),
  tokens: z.record(z.string(), z.string()),
  /** Absent if the host has never stored data. Contains no reviews if the host was stopped on request. */
  memory: Memory.optional(),
  /** Time at which the host ended or was asked to stop (Unix milliseconds). */
  endedAt: z.number(),
  /** Whether the host was asked to stop. Otherwise the host has crashed. */
  wasStopped: z.boolean(),
});

export const Boot = z.object({
  editor: z.object({
    /**
     * Id of the process that a CLI in `:terminal` considers its editor. With a terminal UI, this is Neovim's parent
     * process.
     */
    idePid: z.number().int().positive(),
    /** Process id of Neovim. */
    pid: z.number().int().positive(),
    /** Id of this Neovim process, valid as a file name. No other process ever gets the same id. */
    instance: z.string().regex(/^[\w-]+$/),
  }),
  /**
   * Absolute paths. `state`: directory for the plugin's own files, in which other users cannot write. `hook`: the script
   * that CLIs run as a hook.
   */
  paths: z.object({ log: z.string(), state: z.string(), hook: z.string() }),
  workspace: Workspace,
  sharing: Sharing,
  gate: Gate,
  options: z.object({
    logLevel: z.enum(["debug", "info", "warn", "error"]),
    /** Whether CLIs in Neovim's terminals connect without asking the user. */
    connect: z.boolean(),
    /** Whether the host tells agents what the user has undone. */
    tellAgent: z.boolean(),
    /** The tools for the model. If absent, the model gets all tools. */
    tools: list(z.string()).optional(),
    /** The user's own prompts, by name. */
    prompts: map(z.object({ description: z.string(), text: z.string() })),
  }),
  /** The CLIs that can find this editor. */
  clis: Clis,
  /** Limits of the server. `maxSessions`: number of clients. `grace`: milliseconds. `bodyLimit`: bytes. */
  server: z.object({
    maxSessions: z.number().int().positive(),
    grace: z.number().nonnegative(),
    bodyLimit: z.number().int().positive(),
  }),
  /**
   * Limits of an answer to the model: number of entries in a list, length of a text (UTF-16 units), and waiting time for
   * language servers (milliseconds).
   */
  answers: z.object({
    items: z.number().int().positive(),
    units: z.number().int().positive(),
    timeout: z.number().int().positive(),
  }),
  /**
   * Number of notes that an earlier Neovim has stored. A note is a text of the user about lines of a file. Only the
   * first host of a Neovim gets a number above 0.
   */
  notes: z.number().int().nonnegative(),
  /**
   * Reviews in this Neovim. `lastId`: the highest id of a review. `decisions`: decisions of the user that the previous
   * host has not delivered to the CLI, as events (name and payload).
   */
  reviews: z.object({
    lastId: z.number().int().nonnegative(),
    decisions: list(z.tuple([z.string(), z.unknown()])),
  }),
  /** Absent for the first host of a Neovim. */
  previous: Previous.optional(),
});
export type Boot = z.infer<typeof Boot>;
