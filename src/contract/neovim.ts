/**
 * CONTRACT 1: defines every message between Lua and Node.
 *
 * Node -> Lua: `calls`, made with one `nvim_exec_lua` each and dispatched by
 * `lua/gemini-bridge/host/rpc.lua`. Lua -> Node: `events`, one RPC notification
 * each, sent by `lua/gemini-bridge/host/lifecycle.lua`; Lua never waits for Node.
 */
import * as z from "zod";
import { Boot, Gate, Workspace } from "./boot.ts";
import { type ChangeCalls, changeEvents } from "./changes.ts";
import type { Tool } from "./hooks.ts";
import { list } from "./list.ts";
import { DiffId, type Memory } from "./memory.ts";
import { type PromptCalls, promptEvents, promptResults } from "./prompts.ts";
import type { QuestionName, Questions } from "./questions.ts";
import { Changed, Consent } from "./sharing.ts";
import { Snapshot } from "./snapshot.ts";
import type { Status } from "./status.ts";

export { Boot } from "./boot.ts";
export { Memory } from "./memory.ts";
export { Snapshot } from "./snapshot.ts";
export type { ClientInfo, Editors, Shared, Status } from "./status.ts";

/** Lua -> Node. */
export const events = {
  /** The user stops the bridge, or Neovim exits. */
  stop: z.unknown(),
  workspace: Workspace,
  /** The user started a running bridge, perhaps because CLIs cannot find it. */
  announce: z.unknown(),
  /** The user switched to this editor from another program. */
  focused: z.unknown(),
  context: Snapshot,
  /**
   * The user accepted the unedited text with this `textId`, or an edited `content`. Both are from the tick of the
   * decision. `version` is that of the file on disk at that moment, see src/system/version.ts.
   */
  diff_accepted: z.union([
    z.object({ id: DiffId, textId: z.string(), version: z.string().optional() }),
    z.object({ id: DiffId, content: z.string(), version: z.string().optional() }),
  ]),
  diff_rejected: z.object({ id: DiffId }),
  /** Whether the user's buffer of the file differs from when the review opened. Debounced. */
  original_changed: z.object({ id: DiffId, edited: z.boolean() }),
  /** The terminals of `:Gemini`, sent on each change. */
  terminals: z.object({
    terminals: list(
      z.object({
        name: z.string(),
        /** Absent until the program has started. */
        pid: z.number().int().positive().optional(),
        /** The terminal's buffer or its pane of tmux; absent until the program has started. */
        buf: z.number().int().optional(),
        pane: z.string().optional(),
        /** Name of the CLI's profile. */
        cli: z.string(),
        /** Program and arguments. */
        cmd: list(z.string()),
        cwd: z.string(),
        /** Whether the CLI was connected to an earlier host. Sent once. */
        lost: z.boolean(),
      }),
    ),
  }),
  gate: Gate,
  /** The answer to a question: its unchecked result, or an error message. */
  answered: z.object({
    id: z.number().int().positive(),
    result: z.unknown().optional(),
    error: z.string().optional(),
  }),
  /** Data that the model may have read has changed. */
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
    program: z.string(),
    cwd: z.string(),
    env: z.record(z.string(), z.string()),
  }),
  /** The status view needs the editors that a CLI finds in this directory. */
  editors_asked: z.object({ cwd: z.string() }),
  ...changeEvents,
  ...promptEvents,
} as const;

export type EventName = keyof typeof events;
export type EventPayload<N extends EventName> = z.infer<(typeof events)[N]>;

const Nothing = z.unknown();

/** Calls from Node to Lua, with the shapes of their results. */
export const results = {
  attach: Boot,
  status: Nothing,
  set_environment: Nothing,
  message: Nothing,
  turn: Nothing,
  context_subscribe: Nothing,
  context_unsubscribe: Nothing,
  remember: Nothing,
  decision_settled: Nothing,
  decision_read: z.object({ content: z.string() }),
  consent: Consent,
  ask: Nothing,
  model_watch: Nothing,
  diff_open: Nothing,
  diff_read: z.object({ content: z.string() }),
  diff_update: Nothing,
  diff_close: z.object({ content: z.string() }),
  file_changed: Nothing,
  changes_follow: Nothing,
  change_show: Nothing,
  change_lines: Nothing,
  deleted_text: Nothing,
  turn_changes: Nothing,
  history_show: Nothing,
  history_diff: Nothing,
  files_open: z.object({ paths: list(z.string()), directories: list(z.string()) }),
  ...promptResults,
} as const;

/** Calls from Node to Lua, with their parameters. Lua rejects a call with a message for the user. */
export interface Calls extends ChangeCalls, PromptCalls {
  /** Registers the host. `channel` is only needed for the shared host; `pid` is the process id of the host. */
  attach: { channel?: number; pid: number };
  status: Status;
  /**
   * Sets and unsets environment variables while the bridge runs. Lua restores them when it stops. `clis` are only for
   * CLIs in Neovim's terminals.
   */
  set_environment: {
    set: Record<string, string>;
    unset: readonly string[];
    clis: Record<string, string>;
  };
  message: { level: "info" | "warn" | "error"; text: string };
  /**
   * The turn of an agent has started, waits for the user, continues, or has ended. `id` is the session id of a
   * connected client; `session` is the CLI's own.
   */
  turn: {
    kind: "started" | "waiting" | "resumed" | "ended";
    cli: string;
    session: string;
    cwd: string;
    id: string | undefined;
    terminal: string | undefined;
    prompt?: string | undefined;
    tool?: Tool;
  };
  /** Starts snapshots: `debounce` ms after the last event, at most `maxWait` ms after the first unsent one. */
  context_subscribe: { events: readonly string[]; debounce: number; maxWait: number; maxSelection: number };
  context_unsubscribe: Record<string, never>;
  /** Stores data in Lua for the next host. Replaces earlier data. */
  remember: Memory;
  /**
   * The outcome of this diff is settled and need not be sent to another host. If it was not delivered, Lua tells the
   * user and keeps the accepted text. `problem` is the reason, unless the CLI has ended.
   */
  decision_settled: { id: number; delivered: boolean; filePath: string; problem?: string | undefined };
  /** Returns the accepted text, until the decision is settled. */
  decision_read: { id: number };
  consent: Record<string, never>;
  /** Asks a question for the model. Answered by the event `answered` with the same id. */
  ask: { id: number; question: QuestionName; params: Questions[QuestionName] };
  /** Sets whether `model_changed` is sent, and whether also for the selection, which changes with each key. */
  model_watch: { on: boolean; selection: boolean };
  /**
   * Shows a review, or replaces the text of the review with this id. `client` is the name of the client, `label` that
   * of the CLI. `textId` identifies the text across hosts, so that an unedited one is accepted by id.
   */
  diff_open: {
    id: number;
    filePath: string;
    newContent: string;
    textId: string;
    client: string;
    label: string;
  };
  /** Returns the current text of the proposal. */
  diff_read: { id: number };
  /**
   * The file on disk has changed, or the review has become stale or fresh: Lua shows this, tells the user once, and
   * reads the file again if the left side is a copy.
   */
  diff_update: { id: number; stale: boolean };
  /**
   * Closes a review without an outcome and returns the text of the proposal. `written`: the file already contains the
   * proposal. Refused if the user has decided; an event with the decision arrives before the refusal.
   */
  diff_close: { id: number; reason: "cancelled" | "cli" | "disconnected" | "stopped" | "written" };
  /** Reloads the buffer of a file that an agent has changed on disk. */
  file_changed: { path: string };
}

export type CallName = keyof Calls;
export type CallResult<N extends CallName> = z.infer<(typeof results)[N]>;
