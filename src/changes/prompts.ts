/** Remembers which prompt an agent works on, what it has changed for that, and which changes may be missing. */
import type { Agent } from "../contract/hooks.ts";
import type { Author } from "./file-change.ts";

/** A longer one is cut: it is shown as one line (UTF-16 units). */
const MAX_PROMPT = 200;

/** Agents of which nothing was heard for longest are forgotten beyond that. */
const MAX_AGENTS = 64;

export interface Turn extends Author {
  readonly files: Set<string>;
  /** Reasons why not all changes may be listed, each the end of a sentence. */
  readonly gaps: Set<string>;
}

export interface Prompts {
  begin(agent: Agent, prompt: string): void;
  authorOf(agent: Agent): Author;
  /** The last turn of a profile's agents. */
  latest(cli: string): Author;
  changed(agent: Agent, path: string): void;
  missed(agent: Agent, gap: string): void;
  /** @returns what was added since the last end */
  end(agent: Agent): Pick<Turn, "files" | "gaps">;
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
    const turn = { cli: agent.cli, turn: Date.now(), prompt: shorten(prompt), ...nothing() };
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
      for (const [session, turn] of known) turns.set(session, turn);
    },
  };
}

function nothing(): Pick<Turn, "files" | "gaps"> {
  return { files: new Set(), gaps: new Set() };
}

function shorten(prompt: string): string {
  const line = prompt.trim().replace(/\s+/g, " ");
  return line.length > MAX_PROMPT ? `${line.slice(0, MAX_PROMPT - 1)}…` : line;
}
