/** Defines events and results of calls for typing prompts into CLIs (part of CONTRACT 1). `buf` is a terminal buffer of Neovim. */
import * as z from "zod";
import { list } from "./list.ts";

export const promptEvents = {
  /** The user has a prompt for the CLI in this terminal of `:Gemini`, or for any CLI if no terminal is open. */
  prompt: z.object({ id: z.number().int(), submit: z.boolean(), terminal: z.string().optional() }),
  /** The user has cancelled all prompts that are not delivered. */
  prompts_cancelled: z.unknown(),
  /** The screen of a watched terminal. Sent after changes, debounced. */
  screen: z.object({
    buf: z.number().int(),
    /** Identifies this version of the screen. */
    tick: z.number().int(),
    /** From top to bottom; absent after the program has ended. */
    lines: list(z.string()).optional(),
    /** Whether the CLI waits for a text that the user edits in Neovim. */
    isEditing: z.boolean(),
  }),
} as const;

export const promptResults = {
  prompt_places: z.object({
    /** The program that `:Gemini` runs. */
    program: z.string(),
    buffers: list(z.object({ buf: z.number().int(), pid: z.number().int().positive() })),
    /** The directories in which a CLI finds this Neovim. */
    directories: list(z.string()),
  }),
  prompt_found: z.object({
    /** The whole prompt. */
    text: z.string(),
    focus: z.boolean(),
    /** The files to which the prompt refers; absent if it contains anything else than these and the user's text. */
    references: list(
      z.object({ path: z.string(), lines: z.tuple([z.number(), z.number()]).optional() }),
    ).optional(),
    /** The user's text; may be empty. */
    userText: z.string(),
  }),
  prompt_open: z.unknown(),
  prompt_waits: z.unknown(),
  prompt_done: z.unknown(),
  screen_watch: z.unknown(),
  screen_type: z.object({ typed: z.boolean() }),
} as const;
