/** Which prompt an agent works on, and what it has changed for that. */
import type { Agent } from "../contract/hooks.ts";
import type { Author } from "./file-change.ts";

/** A longer one is cut: it is shown as one line (UTF-16 units). */
const MAX_PROMPT = 200;

/** Agents of which nothing was heard for longest are forgotten beyond that. */
const MAX_AGENTS = 64;

export interface Turn extends Author {
  readonly files: Set<string>;
}

export interface Prompts {
  begin(agent: Agent, prompt: string): void;
  authorOf(agent: Agent): Author;
  /** The last turn of a profile's agents. */
  latest(cli: string): Author;
  changed(agent: Agent, path: string): void;
  /** @returns the files that were changed in this turn, each time from the last end on */
  end(agent: Agent): string[];
  /** Goes on with the turns that the host before this one knew, by session. */
  restore(turns: ReadonlyMap<string, Turn>): void;
}

/** @param save keeps a turn for the next host, or nothing of that session any more */
export function createPrompts(save: (session: string, turn: Turn | undefined) => void): Prompts {
  const turns = new Map<string, Turn>();

  function turnOf(agent: Agent): Turn {
    return turns.get(agent.session) ?? begin(agent, "");
  }

  function begin(agent: Agent, prompt: string): Turn {
    turns.delete(agent.session);
    const turn = { cli: agent.cli, turn: Date.now(), prompt: shorten(prompt), files: new Set<string>() };
    turns.set(agent.session, turn);
    for (const session of turns.keys()) {
      if (turns.size <= MAX_AGENTS) break;
      turns.delete(session);
    }
    return turn;
  }

  return {
    begin: (agent, prompt) => save(agent.session, begin(agent, prompt)),
    authorOf(agent) {
      const { cli, turn, prompt } = turnOf(agent);
      return { cli, turn, prompt };
    },
    latest(cli) {
      const { turn, prompt } = [...turns.values()].findLast((one) => one.cli === cli) ?? {
        turn: 0,
        prompt: "",
      };
      return { cli, turn, prompt };
    },
    changed(agent, path) {
      const turn = turnOf(agent);
      turn.files.add(path);
      save(agent.session, turn);
    },
    end(agent) {
      const turn = turnOf(agent);
      turns.set(agent.session, { ...turn, files: new Set() });
      save(agent.session, undefined);
      return [...turn.files];
    },
    restore(known) {
      for (const [session, turn] of known) turns.set(session, turn);
    },
  };
}

function shorten(prompt: string): string {
  const line = prompt.trim().replace(/\s+/g, " ");
  return line.length > MAX_PROMPT ? `${line.slice(0, MAX_PROMPT - 1)}…` : line;
}
