/**
 * Finds the connected client of an agent. The agent's hook sends the process id of the CLI. The operating system knows
 * which process has opened a connection. CLIs on other machines and in other containers are not found.
 */
import type { Agent } from "../contract/hooks.ts";
import type { ClientList } from "../http/client.ts";
import { platform } from "../system/platform.ts";

/** Returns the session id of the newest client that the agent's process has connected. */
export async function findClient(
  clients: Pick<ClientList, "connected">,
  { cli, pid }: Agent,
): Promise<string | undefined> {
  const candidates = clients.connected().filter(({ info, ports }) => info.credential === cli && ports);
  if (pid === undefined || candidates.length === 0) return undefined;
  const own = new Set(candidates.flatMap(({ ports }) => ports?.own ?? []));
  const connections = await platform.connections([pid], [...own]);
  return candidates.findLast(({ ports }) => connections.some(({ own }) => own === ports?.client))?.id;
}
