/**
 * Which connected client an agent is. Hooks and connections know nothing of each other, but both are of one process:
 * the hook names it, and the system knows whose a connection is. Where that cannot be told, as of a CLI on another machine
 * or in a container of its own, an agent is no client's: another CLI of the same kind must not be taken for it.
 */

import type { Agent } from "../contract/hooks.ts";
import type { Session, Sessions } from "../http/sessions.ts";
import { here } from "../system/here.ts";

export interface AgentClients {
  /** @returns the id of the client's session, whose event stream is open */
  find(agent: Agent): Promise<string | undefined>;
  /** What the last search has found of an agent's process. */
  known(agent: Agent): string | undefined;
  forget(session: Pick<Session, "id">): void;
}

export function createAgentClients(sessions: Pick<Sessions, "connected">): AgentClients {
  /** Ids of sessions, by profile and process. */
  const found = new Map<string, string>();

  async function search({ cli, pid }: Agent): Promise<string | undefined> {
    const candidates = sessions.connected().filter(({ info, ports }) => info.credential === cli && ports);
    if (pid === undefined || candidates.length === 0) return undefined;
    const own = new Set(candidates.flatMap(({ ports }) => ports?.own ?? []));
    const connections = await here.connections([pid], [...own]);
    return candidates.find(({ ports }) => connections.some(({ own }) => own === ports?.client))?.id;
  }

  const clients: AgentClients = {
    known: (agent) => found.get(keyOf(agent)),
    async find(agent) {
      const known = clients.known(agent);
      if (sessions.connected().some(({ id }) => id === known)) return known;
      const id = await search(agent);
      if (id !== undefined) found.set(keyOf(agent), id);
      return id;
    },
    forget({ id }) {
      for (const [key, known] of found) if (known === id) found.delete(key);
    },
  };
  return clients;
}

function keyOf({ cli, pid }: Agent): string {
  return `${cli} ${pid}`;
}
