/**
 * Tracks which agents are working. An agent works from its first event in a turn until the turn ends, or until the
 * agent's process ends.
 */
import type { Agent, AgentEvent } from "../contract/hooks.ts";
import { isAlive, isOwnAndAlive } from "../system/processes.ts";

/** Interval for checking whether the processes of agents still run. */
const INTERVAL_MS = 1_000;

export interface Agents {
  /**
   * Handles an event of a hook.
   * @returns the agent. Its process id is set only if the process is visible on this machine
   */
  handle(event: AgentEvent): Agent;
  readonly areAtWork: boolean;
  /**
   * Returns working agents whose processes have ended. No event will end their pending edits.
   * @param cli profile of a CLI without connected clients. Agents of this CLI without a visible process count as ended,
   * too
   */
  findGone(cli?: string): Agent[];
  /** Ends the work of an agent. @returns true if the agent was working */
  end(agent: Agent): boolean;
  /** Stops checking the processes. Idempotent. */
  close(): void;
}

interface AgentsOptions {
  /** Called when the process of an agent has ended, see {@link Agents.findGone}. */
  gone(): void;
  /** Called when the first agent starts to work, or the last one stops. */
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

  function end({ session }: Agent): boolean {
    if (!atWork.delete(session)) return false;
    if (atWork.size > 0) return true;
    clearInterval(timer);
    timer = undefined;
    changed(false);
    return true;
  }

  return {
    handle({ kind, agent }) {
      // The agent has just run a hook, so its process exists. If the process is not visible here, the agent runs on
      // another machine or in a container. A local process may have the same id by chance.
      const pid = agent.pid !== undefined && isOwnAndAlive(agent.pid) ? agent.pid : undefined;
      const seen = atWork.get(agent.session) ?? { ...agent, pid };
      if (kind === "turn_ended" || kind === "session_ended") end(agent);
      else if (kind === "turn_started" || kind === "tool_starting") begin(seen);
      return seen;
    },
    get areAtWork() {
      return atWork.size > 0;
    },
    findGone(cli) {
      const isLeft = (agent: Agent) => agent.pid === undefined && agent.cli === cli;
      return [...atWork.values()].filter((agent) => isGone(agent) || isLeft(agent));
    },
    end,
    close: () => clearInterval(timer),
  };
}
