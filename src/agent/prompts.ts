/** Which prompt an agent works on, and what it has changed for that. */
import type { Agent } from "./events.ts";
import type { Author } from "./file-change.ts";

/** A longer one is cut: it is shown as one line (UTF-16 units). */
const MAX_PROMPT = 200;

/** Agents of which nothing was heard for longest are forgotten beyond that. */
const MAX_AGENTS = 64;

interface Turn extends Author {
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
}

export function createPrompts(): Prompts {
  const turns = new Map<string, Turn>();

  function turnOf(agent: Agent): Turn {
    return turns.get(agent.session) ?? begin(agent, "");
  }

  function begin(agent: Agent, prompt: string): Turn {
    turns.delete(agent.session);
    const files = new Set<string>();
    const turn = { cli: agent.cli, turn: Date.now(), prompt: shorten(prompt), files };
    turns.set(agent.session, turn);
    for (const session of turns.keys()) {
      if (turns.size <= MAX_AGENTS) break;
      turns.delete(session);
    }
    return turn;
  }

  return {
    begin: (agent, prompt) => void begin(agent, prompt),
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
    changed: (agent, path) => void turnOf(agent).files.add(path),
    end(agent) {
      const { files } = turnOf(agent);
      const paths = [...files];
      files.clear();
      return paths;
    },
  };
}

function shorten(prompt: string): string {
  const line = prompt.trim().replace(/\s+/g, " ");
  return line.length > MAX_PROMPT ? `${line.slice(0, MAX_PROMPT - 1)}…` : line;
}
