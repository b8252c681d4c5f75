/**
 * Finds the connected client of an agent: the hook sends the process id of its CLI, and the operating system knows
 * which process has opened a connection. For a CLI on another machine or in another container, no client is found.
 */
import type { Agent } from "../contract/hooks.ts";
import type { HeardAgent } from "../contract/memory.ts";
import type { Client, ClientList } from "../http/client.ts";
import { platform } from "../system/platform.ts";

/** Maximum number of stored agents. The oldest are dropped first. */
const MAX_AGENTS = 64;

export interface AgentClients {
  /** @returns the session id of the agent's client, if the client is connected */
  find(agent: Agent): Promise<string | undefined>;
  /** Like `find`, but does not search: returns the session id only if an earlier search has found it. */
  known(agent: Agent): string | undefined;
  /** Records that a hook of an agent was received, and searches for the agent's client. */
  heard(agent: Agent): Promise<void>;
  /** Whether a hook of any agent was ever received. */
  readonly hasHeard: boolean;
  /** Whether a hook of this session's client was ever received. */
  hasHooks(sessionId: string): boolean;
  /**
   * Searches for the agents of a client that has just connected. Needed because their hooks may have arrived earlier.
   */
  connected(client: Client): Promise<void>;
  forget(client: Pick<Client, "id">): void;
}

interface AgentClientsOptions {
  sessions: Pick<ClientList, "connected">;
  /** Agents whose hooks were received by an earlier host that crashed. */
  earlier: readonly HeardAgent[];
  /** Called when `hasHeard`, or `hasHooks` of a session, becomes true. */
  found(): void;
  /** Stores all agents whose hooks were received, so that the next host knows them after a crash. */
  remember(agents: HeardAgent[]): void;
}

export function createAgentClients(options: AgentClientsOptions): AgentClients {
  const { sessions } = options;
  /** Session ids of the agents' clients, by profile and process id of the agent. */
  const found = new Map<string, string>();
  let hasHeard = options.earlier.length > 0;
  const heard = new Map<string, HeardAgent>(options.earlier.map((agent) => [keyOf(agent), agent]));

  async function search({ cli, pid }: HeardAgent): Promise<string | undefined> {
    const candidates = sessions.connected().filter(({ info, ports }) => info.credential === cli && ports);
    if (pid === undefined || candidates.length === 0) return undefined;
    const own = new Set(candidates.flatMap(({ ports }) => ports?.own ?? []));
    const connections = await platform.connections([pid], [...own]);
    return candidates.find(({ ports }) => connections.some(({ own }) => own === ports?.client))?.id;
  }

  async function find(agent: HeardAgent): Promise<string | undefined> {
    const known = found.get(keyOf(agent));
    if (sessions.connected().some(({ id }) => id === known)) return known;
    const id = await search(agent);
    if (id === undefined) return undefined;
    found.set(keyOf(agent), id);
    if (heard.has(keyOf(agent))) options.found();
    return id;
  }

  return {
    find,
    known: (agent) => found.get(keyOf(agent)),
    async heard({ cli, pid }) {
      const agent = { cli, pid };
      if (!hasHeard) {
        hasHeard = true;
        options.found();
      }
      if (pid === undefined || heard.has(keyOf(agent))) return;
      const [oldest] = heard.keys();
      if (oldest !== undefined && heard.size >= MAX_AGENTS) heard.delete(oldest);
      heard.set(keyOf(agent), agent);
      options.remember([...heard.values()]);
      if (found.has(keyOf(agent))) options.found();
      else await find(agent);
    },
    get hasHeard() {
      return hasHeard;
    },
    hasHooks: (sessionId) => [...heard.keys()].some((key) => found.get(key) === sessionId),
    async connected({ info }) {
      for (const agent of heard.values()) if (agent.cli === info.credential) await find(agent);
    },
    forget({ id }) {
      for (const [key, known] of found) if (known === id) found.delete(key);
    },
  };
}

function keyOf({ cli, pid }: HeardAgent): string {
  return `${cli} ${pid}`;
}
