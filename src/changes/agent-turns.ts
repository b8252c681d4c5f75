/**
 * Stores the current turn of each agent: the prompt, the changed files, and reasons why the list of files may be
 * incomplete.
 */
import type { Agent } from "../contract/hooks.ts";
import { type Author, authorOf } from "./file-change.ts";

/** Maximum length of a stored prompt (UTF-16 units). Longer prompts are cut, so that they fit into one line. */
const MAX_PROMPT_LENGTH = 200;

/** Maximum number of agents. Beyond this number, the agents with the oldest turns are forgotten. */
const MAX_AGENTS = 64;

/** Maximum number of turns whose session is remembered. */
const MAX_TURNS = 1_000;

export interface Turn extends Author {
  /** Id that the CLI has given to the turn. */
  id?: string | undefined;
  readonly files: Set<string>;
  /** Reasons why the list of files may be incomplete, such as "Git did not answer after a command". */
  readonly gaps: Set<string>;
}

export interface AgentTurns {
  begin(agent: Agent, prompt: string, id?: string): void;
  /** Continues the agent's turn, if there is one, with another id. */
  goOn(agent: Agent, id: string | undefined): void;
  /** Returns whether the agent's turn has this id. */
  isRunning(agent: Agent, id: string | undefined): boolean;
  authorOf(agent: Agent): Author;
  /** Returns the session of a turn; undefined if the turn is unknown. */
  sessionOf(turn: number): string | undefined;
  /** Returns the author of the newest turn of a CLI. Considers all agents of the CLI. */
  latest(cli: string): Author;
  changed(agent: Agent, path: string): void;
  missed(agent: Agent, gap: string): void;
  /** Notices that the agent is in a turn, even if this host process has not seen the start of the turn. */
  goesOn(agent: Agent): void;
  /** Ends the turn of an agent. @returns the turn with its changed files, and reasons why the list may be incomplete */
  end(agent: Agent): Turn;
}

/**
 * Creates the store of turns.
 * @param unseen reason why changes may be missing in a turn whose start this host process has not seen
 */
export function createAgentTurns(unseen?: string): AgentTurns {
  const turns = new Map<string, Turn>();
  /** Session of each turn, by the start time of the turn (Unix milliseconds). */
  const sessions = new Map<number, string>();
  let lastTurn = 0;

  function turnOf(agent: Agent): Turn {
    const known = turns.get(agent.session);
    if (known) return known;
    const turn = begin(agent, "");
    if (unseen !== undefined) turn.gaps.add(unseen);
    return turn;
  }

  function begin(agent: Agent, prompt: string, id?: string): Turn {
    turns.delete(agent.session);
    // The start time identifies a turn, so two turns must not start at the same time.
    lastTurn = Math.max(Date.now(), lastTurn + 1);
    const turn = { cli: agent.cli, turn: lastTurn, prompt: shorten(prompt), id, ...nothing() };
    turns.set(agent.session, turn);
    sessions.set(lastTurn, agent.session);
    const [oldest] = sessions.keys();
    if (oldest !== undefined && sessions.size > MAX_TURNS) sessions.delete(oldest);
    for (const session of turns.keys()) {
      if (turns.size <= MAX_AGENTS) break;
      turns.delete(session);
    }
    return turn;
  }

  return {
    begin: (agent, prompt, id) => void begin(agent, prompt, id),
    goOn({ session }, id) {
      const turn = turns.get(session);
      if (turn) turn.id = id;
    },
    isRunning: ({ session }, id) => id !== undefined && turns.get(session)?.id === id,
    authorOf: (agent) => authorOf(turnOf(agent)),
    sessionOf: (turn) => sessions.get(turn),
    latest: (cli) =>
      authorOf([...turns.values()].findLast((one) => one.cli === cli) ?? { cli, turn: 0, prompt: "" }),
    changed: (agent, path) => void turnOf(agent).files.add(path),
    missed(agent, gap) {
      const turn = turnOf(agent);
      turn.gaps.add(gap);
    },
    goesOn: (agent) => void turnOf(agent),
    end(agent) {
      const turn = turns.get(agent.session) ?? { cli: agent.cli, turn: 0, prompt: "", ...nothing() };
      turns.set(agent.session, { ...turn, ...nothing() });
      return turn;
    },
  };
}

function nothing(): Pick<Turn, "files" | "gaps"> {
  return { files: new Set(), gaps: new Set() };
}

/** Returns a prompt as one printable line. Some functions of Neovim fail for a NUL character. */
function shorten(prompt: string): string {
  const line = prompt.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return line.length > MAX_PROMPT_LENGTH ? `${line.slice(0, MAX_PROMPT_LENGTH - 1)}…` : line;
}
