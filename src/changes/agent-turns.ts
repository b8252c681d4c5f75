/** Stores the current turn of each agent: the prompt, the changed files, and reasons why changes may be missing. */
import type { Agent } from "../contract/hooks.ts";
import { type Author, authorOf } from "./file-change.ts";

/** Maximum length of a stored prompt (UTF-16 units). Longer prompts are cut, because a prompt is shown in one line. */
const MAX_PROMPT_LENGTH = 200;

/** Maximum number of agents. Those whose last turn began first are forgotten. */
const MAX_AGENTS = 64;

/** Maximum number of turns for which `sessionOf` knows the session. */
const MAX_TURNS = 1_000;

export interface Turn extends Author {
  readonly files: Set<string>;
  /** Reasons why changes may be missing, each worded as the end of a sentence. */
  readonly gaps: Set<string>;
}

export interface AgentTurns {
  begin(agent: Agent, prompt: string): void;
  authorOf(agent: Agent): Author;
  /** Returns the session to which a turn belongs, if this host knows it. */
  sessionOf(turn: number): string | undefined;
  /** Returns the author of the last turn of any agent of this CLI. */
  latest(cli: string): Author;
  changed(agent: Agent, path: string): void;
  missed(agent: Agent, gap: string): void;
  /** Ends the turn of an agent. @returns the files and gaps of the turn */
  end(agent: Agent): Pick<Turn, "files" | "gaps">;
  /** Continues with the turns of an earlier host. @param turns by session */
  restore(turns: ReadonlyMap<string, Turn>): void;
}

/** @param save stores a turn for the next host; undefined removes it */
export function createAgentTurns(save: (session: string, turn: Turn | undefined) => void): AgentTurns {
  const turns = new Map<string, Turn>();
  /** Sessions by turn. A turn is identified by the time of its start. */
  const sessions = new Map<number, string>();
  let lastTurn = 0;

  function turnOf(agent: Agent): Turn {
    return turns.get(agent.session) ?? begin(agent, "");
  }

  function begin(agent: Agent, prompt: string): Turn {
    turns.delete(agent.session);
    // Makes the time unique, because it identifies the turn.
    lastTurn = Math.max(Date.now(), lastTurn + 1);
    const turn = { cli: agent.cli, turn: lastTurn, prompt: shorten(prompt), ...nothing() };
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
    begin: (agent, prompt) => save(agent.session, begin(agent, prompt)),
    authorOf: (agent) => authorOf(turnOf(agent)),
    sessionOf: (turn) => sessions.get(turn),
    latest: (cli) =>
      authorOf([...turns.values()].findLast((one) => one.cli === cli) ?? { cli, turn: 0, prompt: "" }),
    changed(agent, path) {
      const turn = turnOf(agent);
      turn.files.add(path);
      save(agent.session, turn);
    },
    missed(agent, gap) {
      const turn = turnOf(agent);
      turn.gaps.add(gap);
      save(agent.session, turn);
    },
    end(agent) {
      const turn = turnOf(agent);
      turns.set(agent.session, { ...turn, ...nothing() });
      save(agent.session, undefined);
      return turn;
    },
    restore(known) {
      for (const [session, turn] of known) {
        turns.set(session, turn);
        sessions.set(turn.turn, session);
      }
    },
  };
}

function nothing(): Pick<Turn, "files" | "gaps"> {
  return { files: new Set(), gaps: new Set() };
}

function shorten(prompt: string): string {
  const line = prompt.trim().replace(/\s+/g, " ");
  return line.length > MAX_PROMPT_LENGTH ? `${line.slice(0, MAX_PROMPT_LENGTH - 1)}…` : line;
}
