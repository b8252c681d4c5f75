/** The agents at work: from their first word in a turn to its end, or that of their process. */
import type { Agent, AgentEvent } from "../contract/hooks.ts";
import { isAlive } from "../system/processes.ts";

/** The end of a process is noticed after this long at the latest (ms). */
const INTERVAL_MS = 1_000;

export interface Agents {
  /** @returns the agent, with its process only where that can be seen from here */
  hear(event: AgentEvent): Agent;
  /** Goes on with an agent that the host before this one has heard. */
  resume(agent: Agent): void;
  readonly areAtWork: boolean;
  /** The agents whose process has ended since: nothing that they had begun comes any more. */
  takeGone(): Agent[];
  /** May run twice. */
  close(): void;
}

export interface AgentsOptions {
  /** The process of an agent has ended, see {@link Agents.takeGone}. */
  gone(): void;
  /** Whether any agent works. */
  changed(areAtWork: boolean): void;
}

export function createAgents({ gone, changed }: AgentsOptions): Agents {
  const atWork = new Map<string, Agent>();
  let timer: NodeJS.Timeout | undefined;

  const isGone = ({ pid }: Agent) => pid !== undefined && !isAlive(pid);

  function begin(agent: Agent): void {
    atWork.set(agent.session, agent);
    timer ??= setInterval(() => [...atWork.values()].some(isGone) && gone(), INTERVAL_MS).unref();
    if (atWork.size === 1) changed(true);
  }

  function end({ session }: Agent): void {
    if (!atWork.delete(session) || atWork.size > 0) return;
    clearInterval(timer);
    timer = undefined;
    changed(false);
  }

  return {
    hear({ kind, agent }) {
      // A hook's process was started a moment ago: one that cannot be seen is that of another machine, or container.
      const pid = agent.pid !== undefined && isAlive(agent.pid) ? agent.pid : undefined;
      const seen = atWork.get(agent.session) ?? { ...agent, pid };
      if (kind === "turn_ended" || kind === "session_ended") end(agent);
      else if (kind === "turn_started" || kind === "tool_starting") begin(seen);
      return seen;
    },
    resume: begin,
    get areAtWork() {
      return atWork.size > 0;
    },
    takeGone() {
      const all = [...atWork.values()].filter(isGone);
      for (const agent of all) end(agent);
      return all;
    },
    close: () => clearInterval(timer),
  };
}
