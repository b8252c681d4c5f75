/** Describes one session of an agent, and creates its turns. */
import type { Agent } from "../contract/hooks.ts";
import type { Turn } from "../contract/turns.ts";
import { isOwnAndAlive } from "../system/processes.ts";
import { createQuestions, type Questions } from "./questions.ts";

/** Maximum length of an author's prompt (UTF-16 units). Longer prompts are cut, so that they fit into one line. */
const MAX_PROMPT_LENGTH = 200;

export interface Session {
  /** The process id is set only if the process is visible on this machine. */
  agent: Agent;
  /** Id of the client that the agent's process has connected, if it was found. */
  client?: string | undefined;
  /** The running turn, or the last one. Undefined before the first turn. */
  turn?: Turn | undefined;
  isRunning: boolean;
  /** Id that the CLI has given to the turn, if any. */
  turnId?: string | undefined;
  /** Number of hook events. */
  events: number;
  readonly questions: Questions;
}

export function newSession(agent: Agent): Session {
  return { agent, isRunning: false, events: 0, questions: createQuestions() };
}

export function keyOf({ cli, session }: Agent): string {
  return `${cli} ${session}`;
}

/**
 * Removes the process id if the process is not visible here, because the agent runs on another machine or in a container.
 * A local process may have the same id by chance. Also removes everything that only a turn has, such as the prompt.
 */
export function withVisibleProcess({ cli, session, cwd, pid }: Agent): Agent {
  return { cli, session, cwd, pid: pid === undefined || isOwnAndAlive(pid) ? pid : undefined };
}

/** Returns a prompt as one printable line. Some functions of Neovim fail for a NUL character. */
function oneLine(prompt: string): string {
  const line = prompt.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return line.length > MAX_PROMPT_LENGTH ? `${line.slice(0, MAX_PROMPT_LENGTH - 1)}…` : line;
}

/**
 * Returns a function that creates turns. No two turns have the same start. The prompt is undefined if the start of the
 * turn was not heard.
 */
export function createTurnMaker(): (agent: Agent, prompt: string | undefined) => Turn {
  let last = 0;
  return (agent, prompt) => {
    last = Math.max(Date.now(), last + 1);
    return { ...agent, turn: last, prompt: oneLine(prompt ?? ""), isSeen: prompt !== undefined };
  };
}
