/** What Lua tells a host that has just attached, and some of it again when it changes: a part of CONTRACT 1. */
import * as z from "zod";
import { Clis } from "./clis.ts";
import { list, map } from "./list.ts";
import { Memory } from "./memory.ts";

/** Directories that are open in Neovim: current directories (global, tab, window) or the user's own list. */
export const Workspace = z.object({ directories: list(z.string()) });

/** Whether CLIs ask before every edit: all of them, and some by name. */
export const Gate = z.object({
  all: z.boolean(),
  clis: map(z.boolean()),
});

export const Boot = z.object({
  /** The process that the CLI finds from a shell in `:terminal`. */
  idePid: z.number().int().positive(),
  /** Neovim's own. */
  editorPid: z.number().int().positive(),
  logFile: z.string(),
  logLevel: z.enum(["debug", "info", "warn", "error"]),
  workspace: Workspace,
  /** A directory for files that only the user may change. */
  stateDirectory: z.string(),
  /** Names this Neovim among all that there ever were; fit for a file name. */
  instance: z.string().regex(/^[\w-]+$/),
  /** Patterns of files that are not shared, as in a `.gitignore`. */
  exclude: list(z.string()),
  /** The file that CLIs' hooks run; absolute. */
  hookScript: z.string(),
  gate: Gate,
  /** Whether a CLI in a terminal of Neovim's is to connect without a question. */
  connect: z.boolean(),
  /** Whether one that a host before this one has left is to be connected again. */
  reconnect: z.boolean(),
  /** The CLIs that are to find this editor. */
  clis: Clis,
  /** Port and tokens of the host before this one in the same Neovim: running CLIs and their hooks know no others. */
  port: z.number().int().optional(),
  tokens: z.record(z.string(), z.string()).optional(),
  /** The highest diff id used in this Neovim. */
  lastDiffId: z.number().int().nonnegative(),
  /** Clients at once; milliseconds; bytes. The options of the same names say what they bound. */
  server: z.object({
    maxSessions: z.number().int().positive(),
    grace: z.number().nonnegative(),
    bodyLimit: z.number().int().positive(),
  }),
  /** For the model: all tools are offered unless they are named; whether CLIs may call those that only read unasked. */
  tools: z.object({
    offered: list(z.string()).optional(),
    trust: z.boolean(),
    /** Entries of lists; UTF-16 units of text; milliseconds. */
    limits: z.object({
      items: z.number().int().positive(),
      units: z.number().int().positive(),
      timeout: z.number().int().positive(),
    }),
  }),
  /** The user's own prompts, by name. */
  prompts: map(z.object({ description: z.string(), text: z.string() })),
  /** Of the host before this one. One that was stopped leaves no diffs. */
  memory: Memory.optional(),
  /** Events, each a name and a payload, about diffs that the host before this one has not settled. */
  decisions: list(z.tuple([z.string(), z.unknown()])),
});
export type Boot = z.infer<typeof Boot>;
