/**
 * CONTRACT 1: every message between Lua and Node.
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
  /** The user stops the bridge, or Neovim leaves. */
  stop: z.unknown(),
  workspace: Workspace,
  /** The user starts a bridge that runs: CLIs may not find it any more. */
  announce: z.unknown(),
  /** The user has come to this editor from another program. */
  focused: z.unknown(),
  context: Snapshot,
  /**
   * The user accepted the text of this `textId`, or a text of their own, read in the tick in which they did. `version` is
   * that of the file on disk at that moment, see src/system/version.ts.
   */
  diff_accepted: z.union([
    z.object({ id: DiffId, textId: z.string(), version: z.string().optional() }),
    z.object({ id: DiffId, content: z.string(), version: z.string().optional() }),
  ]),
  diff_rejected: z.object({ id: DiffId }),
  /** After a pause: whether the user's own buffer of the file holds another text than when the review opened. */
  original_changed: z.object({ id: DiffId, edited: z.boolean() }),
  /** The terminals of `:Gemini` in which a program runs, whenever they are others. */
  terminals: z.object({
    terminals: list(
      z.object({
        name: z.string(),
        pid: z.number().int().positive(),
        /** The name of its CLI's profile. */
        cli: z.string(),
        /** Its CLI was connected to a host before this one, which is told once. */
        lost: z.boolean(),
      }),
    ),
  }),
  gate: Gate,
  /** To a question: its result, not looked at, or a sentence why there is none. */
  answered: z.object({
    id: z.number().int().positive(),
    result: z.unknown().optional(),
    error: z.string().optional(),
  }),
  /** Of what the model may have seen. */
  model_changed: z.object({ what: list(Changed) }),
  /** For the log, which only the host writes. */
  log: z.object({ level: z.enum(["debug", "info", "warn", "error"]), text: z.string() }),
  /** The CLI in the terminal of this name says that it waits for a prompt. */
  terminal_ready: z.object({ terminal: z.string() }),
  /** A CLI was started in the terminal of this name. */
  cli_started: z.object({
    terminal: z.string(),
    /** The name of its profile. */
    cli: z.string(),
    program: z.string(),
    cwd: z.string(),
    env: z.record(z.string(), z.string()),
  }),
  /** The user looks at the status, which is to say what a CLI finds in this directory. */
  editors_asked: z.object({ cwd: z.string() }),
  ...changeEvents,
} as const;

export type EventName = keyof typeof events;
export type EventPayload<N extends EventName> = z.infer<(typeof events)[N]>;

const Nothing = z.unknown();

/** Node -> Lua, with the shape of the answer. */
export const results = {
  attach: Boot,
  status: Nothing,
  set_environment: Nothing,
  message: Nothing,
  cli_unconnected: Nothing,
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
} as const;

/** Node -> Lua, with the parameters. A call that Lua cannot carry out is rejected with a sentence for the user. */
export interface Calls extends ChangeCalls {
  /** `channel` is the host's in Neovim, which knows that of a process of its own; `pid` is its process id. */
  attach: { channel?: number; pid: number };
  status: Status;
  /**
   * Sets the variables; `unset` are blanked while the bridge runs. Lua restores them all on stop. `clis` are for the
   * CLIs in Neovim's terminals alone.
   */
  set_environment: {
    set: Record<string, string>;
    unset: readonly string[];
    clis: Record<string, string>;
  };
  message: { level: "info" | "warn" | "error"; text: string };
  /**
   * The CLI in this terminal will not connect, and nobody has said that it should not: what connects it is typed, if it
   * is to be, after its question if it has one (`isAsked`); where that is not possible the user is told the hint.
   */
  cli_unconnected: { terminal: string; types: boolean; isAsked: boolean; hint: string };
  /**
   * An agent's turn began, waits for the user, goes on, or is over. `id` is its client's, where it is connected; the
   * `session` is the CLI's own.
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
  /** Starts snapshots. `debounce` after the last event and `maxWait` after the first unsent one, both milliseconds. */
  context_subscribe: { events: readonly string[]; debounce: number; maxWait: number; maxSelection: number };
  context_unsubscribe: Record<string, never>;
  /** Kept by Lua until the next one, and given to a host that follows this one after a crash. */
  remember: Memory;
  /**
   * The event that told the outcome of this diff has done its work, and need not be told to another host. When it was
   * not delivered, it never will be: Lua tells the user, and keeps the text that they accepted. `problem` is the reason,
   * if it is not that the CLI is gone.
   */
  decision_settled: { id: number; delivered: boolean; filePath: string; problem?: string | undefined };
  /** Answers the text that was accepted, until that decision is settled. */
  decision_read: { id: number };
  consent: Record<string, never>;
  /** Asks for the model; the event `answered` comes with the same id. */
  ask: { id: number; question: QuestionName; params: Questions[QuestionName] };
  /** Whether `model_changed` is to be told, and whether of the selection, too, which changes with each key. */
  model_watch: { on: boolean; selection: boolean };
  /**
   * Shows a review, or replaces the text of the one that has this id. `client` names the client, `label` the CLI.
   * `textId` names the text among all of all hosts, so that a text that nobody has changed need not be sent back.
   */
  diff_open: {
    id: number;
    filePath: string;
    newContent: string;
    textId: string;
    client: string;
    label: string;
  };
  /** Answers what the proposal holds now, and changes nothing. */
  diff_read: { id: number };
  /**
   * The file on disk is another one, or the review has become stale, or is no longer: Lua shows it, tells the user once,
   * and reads the disk again where the left side is a copy.
   */
  diff_update: { id: number; stale: boolean };
  /**
   * Closes a review without an outcome and answers what the proposal held. `written`: the file holds the proposal. It is
   * refused when the user has decided, which is told by an event before the refusal.
   */
  diff_close: { id: number; reason: "cli" | "disconnected" | "stopped" | "written" };
  /** A file that an agent writes, or has written, has changed on disk: its buffer is read again. */
  file_changed: { path: string };
}

export type CallName = keyof Calls;
export type CallResult<N extends CallName> = z.infer<(typeof results)[N]>;
