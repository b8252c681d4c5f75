/**
 * Finds the connected client of an agent. The agent's hook sends the process id of the CLI. The operating system knows
 * which process has opened a connection. CLIs on other machines and in other containers are not found.
 */
import type { Agent } from "../contract/hooks.ts";
import type { HeardAgent } from "../contract/memory.ts";
import type { Client, ClientList } from "../http/client.ts";
import { platform } from "../system/platform.ts";

/** Maximum number of stored agents. The oldest are dropped first. */
const MAX_AGENTS = 64;

export interface AgentClients {
  /** Returns the session id of the agent's client; undefined if the client is not connected. */
  find(agent: Agent): Promise<string | undefined>;
  /** Returns the result of an earlier call of `find`. Does not search. */
  known(agent: Agent): string | undefined;
  /** Records that an agent has sent a hook event, and searches for the agent's client. */
  heard(agent: Agent): Promise<void>;
  /** True after the first hook event of any agent. */
  readonly hasHeard: boolean;
  /** Returns whether this session's client has ever sent a hook event. */
  hasHooks(sessionId: string): boolean;
  /**
   * Searches for the agents of a client that has just connected. Their hook events may have arrived before the
   * connection.
   */
  connected(client: Client): Promise<void>;
  /** Returns whether the client of this interrupted session has opened a later session. */
  isReplaced(sessionId: string): boolean;
  forget(client: Pick<Client, "id">): void;
}

export interface AgentClientsOptions {
  clients: Pick<ClientList, "connected">;
  /** Ids of sessions whose clients send nothing any more. Such a client may have opened another session. */
  interrupted: ReadonlySet<string>;
  /** Agents that sent hook events before a crash of the host process. */
  heard: readonly HeardAgent[];
  /** Called after the first hook event of any agent, and after the first hook event of each session's client. */
  found(): void;
  /** Stores all agents that have sent hook events, so that they are known after a crash of the host process. */
  remember(agents: HeardAgent[]): void;
}

export function createAgentClients(options: AgentClientsOptions): AgentClients {
  const { clients } = options;
  /** Session id of each agent's client. The key consists of the agent's CLI profile and process id. */
  const found = new Map<string, string>();
  const replaced = new Set<string>();
  let hasHeard = options.heard.length > 0;
  const heard = new Map<string, HeardAgent>(options.heard.map((agent) => [keyOf(agent), agent]));

  async function search({ cli, pid }: HeardAgent): Promise<string | undefined> {
    const candidates = clients.connected().filter(({ info, ports }) => info.credential === cli && ports);
    if (pid === undefined || candidates.length === 0) return undefined;
    const own = new Set(candidates.flatMap(({ ports }) => ports?.own ?? []));
    const connections = await platform.connections([pid], [...own]);
    return candidates.findLast(({ ports }) => connections.some(({ own }) => own === ports?.client))?.id;
  }

  async function find(agent: HeardAgent): Promise<string | undefined> {
    const known = found.get(keyOf(agent));
    if (!options.interrupted.has(known ?? "") && clients.connected().some(({ id }) => id === known))
      return known;
    const id = await search(agent);
    if (id === undefined) return undefined;
    if (known !== undefined && known !== id) replaced.add(known);
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
    isReplaced: (sessionId) => replaced.has(sessionId),
    forget({ id }) {
      replaced.delete(id);
      for (const [key, known] of found) if (known === id) found.delete(key);
    },
  };
}

function keyOf({ cli, pid }: HeardAgent): string {
  return `${cli} ${pid}`;
}
