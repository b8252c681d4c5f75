/** What each agent is doing. An agent of which nothing is known here is idle. */
import type { Agent, AgentEvent, Tool } from "../contract/hooks.ts";
import type { Activity } from "../contract/status.ts";

/** `prompt` is missing where the turn began unseen, as when the host has crashed meanwhile. */
export type TurnChange = { agent: Agent } & (
  | { kind: "started"; prompt?: string | undefined }
  /** The CLI's own prompt, or a review, waits for the user. */
  | { kind: "waiting"; tool: Tool }
  /** The user has let it go on. */
  | { kind: "resumed" }
  | { kind: "ended" }
);

/** More agents at once than a user has: those whose end nobody has told of go, the oldest first. */
const MAX_AGENTS = 256;

export interface Turns {
  /** Takes what a hook tells. */
  hear(event: AgentEvent): void;
  /** The user has allowed what the agent waits for. */
  allowed(agent: Agent): void;
  /** The turn is over without a hook that says so: the user has rejected a proposal, or the CLI is gone. */
  over(agent: Agent): void;
  /** Agents in the midst of a turn. */
  active(): readonly { readonly agent: Agent; readonly activity: Exclude<Activity, "idle"> }[];
}

/** @param changed told at once, in the order in which it happens */
export function createTurns(changed: (change: TurnChange) => void): Turns {
  const turns = new Map<string, { agent: Agent; activity: "working" | "waiting" }>();

  function begin(agent: Agent, prompt?: string): void {
    // The turn before ended unseen, as by Esc: one prompt at a time is what a CLI has.
    over(agent);
    const [oldest] = turns.values();
    if (oldest && turns.size >= MAX_AGENTS) over(oldest.agent);
    turns.set(keyOf(agent), { agent, activity: "working" });
    changed({ kind: "started", agent, prompt });
  }

  function over(agent: Agent): void {
    if (turns.delete(keyOf(agent))) changed({ kind: "ended", agent });
  }

  /** Its turn, which may have begun unseen. */
  function turnOf(agent: Agent) {
    if (!turns.has(keyOf(agent))) begin(agent);
    return turns.get(keyOf(agent));
  }

  function work(agent: Agent): void {
    const turn = turns.get(keyOf(agent));
    if (turn?.activity !== "waiting") return;
    turn.activity = "working";
    changed({ kind: "resumed", agent });
  }

  return {
    hear(event) {
      const { agent } = event;
      switch (event.kind) {
        case "session_started":
          return;
        case "turn_started":
          return begin(agent, event.prompt);
        case "tool_starting":
          turnOf(agent);
          return work(agent);
        case "permission_asked": {
          const turn = turnOf(agent);
          if (turn) turn.activity = "waiting";
          return changed({ kind: "waiting", agent, tool: event.tool });
        }
        case "tool_ended":
          // Of a turn that is over it is the last word of a tool that was cut short.
          return work(agent);
        case "turn_ended":
        case "session_ended":
          return over(agent);
      }
    },
    allowed: work,
    over,
    active: () => [...turns.values()],
  };
}

function keyOf({ cli, session }: Agent): string {
  return `${cli} ${session}`;
}
