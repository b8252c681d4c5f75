/**
 * CONTRACT 1: defines every message between Lua and Node.
 *
 * Node -> Lua: the calls in calls.ts. Each call is one `nvim_exec_lua`, which `lua/gemini-bridge/calls.lua`
 * dispatches. Lua -> Node: `events`. Each event is one RPC notification from `lua/gemini-bridge/bridge/channel.lua`.
 * In both directions, `request` and `answered` carry the requests that are answered later. Lua never waits for Node.
 */
import * as z from "zod";
import { Boot, Gate, Workspace } from "./boot.ts";
import type { Calls } from "./calls.ts";
import { changeEvents } from "./changes.ts";
import { list } from "./list.ts";
import { DiffId } from "./memory.ts";
import { Answer, Request } from "./request-messages.ts";
import { Changed } from "./sharing.ts";
import { Snapshot } from "./snapshot.ts";

export { Boot } from "./boot.ts";
export type { Calls } from "./calls.ts";
export { Memory } from "./memory.ts";
export * from "./requests.ts";
export { Snapshot } from "./snapshot.ts";
export type { ClientInfo, Shared, Status } from "./status.ts";

/** The events from Lua to Node. */
export const events = {
  /** The user stops the bridge. `keepsReviews`: whether another host follows and continues the open reviews. */
  stop: z.object({ keepsReviews: z.boolean() }),
  workspace: Workspace,
  /**
   * The user has asked to start the bridge while the bridge was already running. Perhaps CLIs cannot find the bridge.
   */
  announce: z.unknown(),
  /** The user switched to this editor from another program. */
  focused: z.unknown(),
  context: Snapshot,
  /** The user has paused or allowed sharing. */
  sharing: z.object({ paused: z.boolean() }),
  /**
   * The user has accepted a text: the unedited text with this `textId`, or the edited text in `content`. `version`
   * identifies the content of the file on disk, see src/system/file-version.ts. Lua has read text and version in the
   * same tick as the decision.
   */
  diff_accepted: z.union([
    z.object({ id: DiffId, textId: z.string(), version: z.string().optional() }),
    z.object({ id: DiffId, content: z.string(), version: z.string().optional() }),
  ]),
  diff_rejected: z.object({ id: DiffId }),
  /** Reports whether the user's buffer of the file has changed since the review opened. Debounced. */
  original_changed: z.object({ id: DiffId, edited: z.boolean() }),
  /** Lists the terminals of `:Gemini`. Sent on each change. */
  terminals: z.object({
    terminals: list(
      z.object({
        name: z.string(),
        /** Process id of the program; absent until the program has started. */
        pid: z.number().int().positive().optional(),
        /** The terminal's buffer or tmux pane; absent until the program has started. */
        buf: z.number().int().optional(),
        pane: z.string().optional(),
        /** Name of the CLI's profile. */
        cli: z.string(),
        /** Program and arguments. */
        cmd: list(z.string()),
        cwd: z.string(),
        /**
         * Whether the CLI was connected to an earlier host. Lua sends true only in its first message after the end of
         * that host.
         */
        lost: z.boolean(),
      }),
    ),
  }),
  gate: Gate,
  /** A request, see requests.ts. The host answers it with the call `answered`. */
  request: Request,
  /** The answer to the call `request`. */
  answered: Answer,
  /** Data that the model can read has changed. */
  model_changed: z.object({ what: list(Changed) }),
  /** A line for the log, which only the host writes. */
  log: z.object({ level: z.enum(["debug", "info", "warn", "error"]), text: z.string() }),
  /** The CLI in this terminal shows that it waits for a prompt. */
  terminal_ready: z.object({ terminal: z.string() }),
  /** A CLI was started in a terminal. */
  cli_started: z.object({
    terminal: z.string(),
    /** Name of the CLI's profile. */
    cli: z.string(),
    /** Program and arguments. */
    cmd: list(z.string()),
    cwd: z.string(),
    env: z.record(z.string(), z.string()),
  }),
  ...changeEvents,
  /**
   * The user has a prompt for the CLI in this terminal of `:Gemini`. Without a terminal, for any CLI outside of these
   * terminals, or only for a CLI of the profile `cli`.
   */
  prompt: z.object({
    id: z.number().int(),
    submit: z.boolean(),
    terminal: z.string().optional(),
    cli: z.string().optional(),
  }),
  /** The user has cancelled all undelivered prompts. */
  prompts_cancelled: z.unknown(),
  /** The screen of a watched terminal. Sent after changes, debounced. */
  screen: z.object({
    buf: z.number().int(),
    /** Number that identifies this version of the screen. */
    tick: z.number().int(),
    /** Lines of the screen, from top to bottom; absent after the program has ended. */
    lines: list(z.string()).optional(),
    /** Indexes (from 0) of the lines that begin like a suggested prompt: a first cell unlike all others. */
    suggested: list(z.number().int()),
    /** Whether the user has typed nothing into the terminal since Enter. */
    isUntouched: z.boolean(),
    /** Whether the CLI waits for a text that the user is editing in Neovim. */
    isEditing: z.boolean(),
  }),
} as const;

export type EventName = keyof typeof events;
export type EventPayload<N extends EventName> = z.infer<(typeof events)[N]>;

const Nothing = z.unknown();

/** The shapes of the results of the calls from Node to Lua whose results Node awaits. */
export const results = {
  attach: Boot,
  status: Nothing,
  set_environment: Nothing,
  decision_read: z.object({ content: z.string() }),
  request: Nothing,
  /** `isPending` is false if the user has already decided. In this case, Lua has not shown the new text. */
  diff_open: z.object({ isPending: z.boolean() }),
  diff_read: z.object({ content: z.string() }),
  diff_close: z.object({ content: z.string() }),
  files_open: z.object({ paths: list(z.string()), directories: list(z.string()) }),
  prompt_places: z.object({
    /** Program and arguments of `:Gemini`. */
    cmd: list(z.string()),
    buffers: list(z.object({ buf: z.number().int(), pid: z.number().int().positive() })),
    /** The directories in which a CLI finds this Neovim. */
    directories: list(z.string()),
  }),
  prompt_found: z.object({
    /** The whole prompt. */
    text: z.string(),
    /** The files to which the prompt refers. Absent if the prompt contains more than references and the user's text. */
    references: list(
      z.object({ path: z.string(), lines: z.tuple([z.number(), z.number()]).optional() }),
    ).optional(),
    /** The user's text; may be empty. */
    userText: z.string(),
  }),
  screen_type: z.object({ typed: z.boolean() }),
} as const;

export type CallName = keyof Calls;
export type AwaitedCall = keyof typeof results;
export type CallResult<N extends AwaitedCall> = z.infer<(typeof results)[N]>;
