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
  /** What the agents of a profile were told last. */
  latest(cli: string): string;
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
    const turn = { cli: agent.cli, prompt: shorten(prompt), files: new Set<string>() };
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
      const { cli, prompt } = turnOf(agent);
      return { cli, prompt };
    },
    latest: (cli) => [...turns.values()].findLast((turn) => turn.cli === cli)?.prompt ?? "",
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
