/** Describes the turns of agents: what `turns` reports to other features. */
import type { Agent, Begun, Tool } from "./hooks.ts";

/** Author of changes: name of the CLI's profile, start of the turn (Unix milliseconds), and prompt. */
export interface Author {
  readonly cli: string;
  /** No two turns have the same start. */
  readonly turn: number;
  /** The prompt as one short line; empty if unknown. */
  readonly prompt: string;
  /** Session id of the CLI itself. Unknown after a restart. */
  readonly session?: string | undefined;
}

/** A turn of an agent. It begins with a prompt of the user. */
export interface Turn extends Agent, Omit<Author, "session"> {
  /** False if this host has not heard the prompt, for example because it was restarted during the turn. */
  readonly isSeen: boolean;
}

/** A step in a turn. The tools of a turn may end after the turn. */
export type TurnStep = { readonly turn: Turn } & (
  | { kind: "started"; prompt?: string | undefined }
  /** The user has sent another prompt during the turn. `earlier`: the turn up to this prompt. */
  | { kind: "prompted"; earlier: Turn }
  /** A tool may run as soon as the listeners are ready. */
  | { kind: "tool_starting"; tool: Tool; begun: Begun }
  | { kind: "tool_ended"; tool: Tool; failed: boolean }
  /** The agent waits for the user, who must answer a question of the CLI or decide on a review. */
  | { kind: "waiting"; tool: Tool }
  /** The user has allowed the agent to continue. */
  | { kind: "resumed" }
  /** Sent once for each turn. `isDead`: the process of the agent has ended, so nothing reports the end of its tools. */
  | { kind: "ended"; isDead: boolean }
);

/** Called with each step. Before a tool starts, the CLI waits for the returned promise. */
export type TurnListener = (step: TurnStep) => void | Promise<void>;
