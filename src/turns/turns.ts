/** Tracks the turns of agents. An agent without a known turn is idle. */
import { basename } from "node:path";
import type { Agent, AgentEvent, Tool } from "../contract/hooks.ts";
import type { Activity } from "../contract/status.ts";

/**
 * A change of an agent's turn. `prompt` is missing if no hook has reported the start of the turn, for example after a
 * crash of the host process.
 */
export type TurnChange = { agent: Agent } & (
  | { kind: "started"; prompt?: string | undefined }
  /** The agent waits for the user, who must answer a question of the CLI or decide on a review. */
  | { kind: "waiting"; tool: Tool }
  /** The user has allowed the agent to continue. */
  | { kind: "resumed" }
  /**
   * `isRejected`: true if the turn has ended because the user has rejected a proposed text. Some CLIs do not report
   * such an end.
   */
  | { kind: "ended"; isRejected: boolean }
);

/**
 * Maximum number of running turns. Beyond this number, the oldest turn is ended, because its end has probably not been
 * reported.
 */
const MAX_TURNS = 256;

/** Maximum time between the user's answer in the CLI's terminal and the agent's next hook event. */
const NEXT_STEP_TIMEOUT_MS = 2_000;

/** Maximum time between the user's decision on a proposed text and the hook event that reports the CLI's question. */
const LATE_QUESTION_MS = 2_000;

export interface Turns {
  /** Handles a hook event. */
  handle(event: AgentEvent): void;
  /**
   * Called when the user has decided on a proposed text. A rejection ends the turn, unless the CLI has asked about
   * several tools at once, and the others are not rejected.
   */
  decided(agent: Agent, filePath: string, isAccepted: boolean): void;
  /**
   * Called when the user has answered a question in the CLI's terminal. If no hook event follows, the answer was a
   * rejection.
   */
  answered(agent: Agent): void;
  /** Ends a turn whose end was not reported by a hook, for example because the CLI has exited. */
  over(agent: Agent): void;
  /** Returns the agents with a running turn. */
  active(): readonly { readonly agent: Agent; readonly activity: Exclude<Activity, "idle"> }[];
}

interface Turn {
  readonly agent: Agent;
  /** Id of the turn, if the CLI sends one. */
  id: string | undefined;
  /**
   * The CLI's questions since the last event of a tool. The key is the file of an edit, or "" for all other tools. Some
   * CLIs ask about several tools at once, and run the accepted tools after the last answer.
   */
  readonly questions: Map<string, "open" | "accepted">;
  /** Number of hook events since the start of the turn. */
  events: number;
}

function activityOf({ questions }: Turn): Exclude<Activity, "idle"> {
  return [...questions.values()].includes("open") ? "waiting" : "working";
}

/** Creates the tracker of turns. @param changed called synchronously for each change of a turn */
export function createTurns(changed: (change: TurnChange) => void): Turns {
  const turns = new Map<string, Turn>();
  /**
   * Files whose proposed text was decided on before a hook reported the CLI's question, by agent. Some CLIs run this
   * hook while the review opens, so the event can arrive after a fast decision.
   */
  const decidedFirst = new Map<string, { filePath: string }>();

  function begin(agent: Agent, prompt?: string, id?: string): void {
    // Ends the agent's previous turn. An agent has only one turn at a time, but the end of a turn may not be reported,
    // for example after Esc.
    over(agent);
    const [oldest] = turns.values();
    if (oldest && turns.size >= MAX_TURNS) over(oldest.agent);
    turns.set(keyOf(agent), { agent, id, questions: new Map(), events: 0 });
    changed({ kind: "started", agent, prompt });
  }

  function over(agent: Agent, isRejected = false): void {
    if (turns.delete(keyOf(agent))) changed({ kind: "ended", agent, isRejected });
  }

  /** Returns the agent's turn. Starts a turn if none is known. */
  function turnOf(agent: Agent) {
    if (!turns.has(keyOf(agent))) begin(agent);
    return turns.get(keyOf(agent));
  }

  /** Changes the questions of a turn that an answer of the user, or an event of a tool, has settled. */
  function settle(turn: Turn, change: () => void): void {
    const before = activityOf(turn);
    change();
    if (activityOf(turn) !== before) changed({ kind: "resumed", agent: turn.agent });
  }

  /** Handles the event of a tool. The user has usually answered all questions by then. */
  function work(agent: Agent): void {
    const turn = turns.get(keyOf(agent));
    if (turn) settle(turn, () => turn.questions.clear());
  }

  /** Returns whether the user has already answered the question that a hook reports. */
  function isAnswered(agent: Agent, tool: Tool): boolean {
    return tool.kind === "edit" && decidedFirst.get(keyOf(agent))?.filePath === tool.filePath;
  }

  return {
    handle(event) {
      const { agent } = event;
      const running = turns.get(keyOf(agent));
      if (running) running.events += 1;
      switch (event.kind) {
        case "session_started":
          return;
        case "turn_started":
          // Continues the turn if this prompt was sent during the turn.
          if (running && (event.isOwn || (event.turn !== undefined && event.turn === running.id))) {
            running.id = event.turn;
            return;
          }
          decidedFirst.delete(keyOf(agent));
          return begin(agent, event.prompt, event.turn);
        case "tool_starting":
          decidedFirst.delete(keyOf(agent));
          turnOf(agent);
          return work(agent);
        case "permission_asked": {
          if (isAnswered(agent, event.tool)) return;
          turnOf(agent)?.questions.set(fileOf(event.tool), "open");
          return changed({ kind: "waiting", agent, tool: event.tool });
        }
        case "tool_ended":
          // A cancelled tool may end after its turn. In that case, this call does nothing.
          return work(agent);
        case "turn_ended":
        case "session_ended":
          return over(agent);
      }
    },
    decided(agent, filePath, isAccepted) {
      const key = keyOf(agent);
      const turn = turns.get(key);
      if (!turn) return;
      if (turn.questions.get(filePath) !== "open") {
        const decision = { filePath };
        decidedFirst.set(key, decision);
        const forget = () => decidedFirst.get(key) === decision && decidedFirst.delete(key);
        setTimeout(forget, LATE_QUESTION_MS).unref();
      }
      const file = questionAbout(turn, filePath);
      if (!isAccepted && [...turn.questions.keys()].every((key) => key === file)) return over(agent, true);
      settle(turn, () => {
        if (isAccepted) turn.questions.set(file, "accepted");
        else turn.questions.delete(file);
      });
    },
    answered(agent) {
      const turn = turns.get(keyOf(agent));
      const events = turn?.events;
      const end = () => {
        if (turn && turns.get(keyOf(agent)) === turn && turn.events === events) over(agent, true);
      };
      if (turn) setTimeout(end, NEXT_STEP_TIMEOUT_MS).unref();
    },
    over: (agent) => over(agent),
    active: () => [...turns.values()].map((turn) => ({ agent: turn.agent, activity: activityOf(turn) })),
  };
}

/**
 * Returns the key of the question that a decision on a file answers. The hook of a CLI may spell the path of the file in
 * another way than its review.
 */
function questionAbout({ questions }: Turn, filePath: string): string {
  const open = [...questions.keys()].filter(
    (file) => questions.get(file) === "open" && basename(file) === basename(filePath),
  );
  const [only = filePath] = open.length === 1 ? open : [];
  return open.includes(filePath) ? filePath : only;
}

/** Returns the key of a question about a tool, see {@link Turn.questions}. */
function fileOf(tool: Tool): string {
  return tool.kind === "edit" ? tool.filePath : "";
}

function keyOf({ cli, session }: Agent): string {
  return `${cli} ${session}`;
}
