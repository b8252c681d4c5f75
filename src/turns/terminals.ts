/**
 * Finds the terminal in Neovim in which each CLI runs. All clients of a CLI report the same name, so this file
 * identifies each client by its connection. The operating system knows which process has opened a connection.
 */
import type { EventPayload } from "../contract/neovim.ts";
import type { Client, ClientList } from "../http/client.ts";
import type { EventHandlers } from "../neovim/bridge.ts";
import { platform } from "../system/platform.ts";
import { familyOf } from "../system/processes.ts";

type Terminal = EventPayload<"terminals">["terminals"][number];

export interface Terminals {
  /** Adds a listener that is called when the terminal of a client was found. */
  onFound(listener: () => void): void;
  /** Name of the terminal in which a session's client runs, if known. */
  nameOf(sessionId: string): string | undefined;
  /** Directory in which the terminal of a session's client was opened, if known. */
  directoryOf(sessionId: string): string | undefined;
  /** Searches for the terminal of a newly connected client. */
  find(client: Client): Promise<void>;
  forget(client: Client): void;
  /** Returns whether a process runs in this terminal. */
  contains(name: string, pid: number | undefined): Promise<boolean>;
  readonly handlers: Pick<EventHandlers, "terminals">;
}

export function createTerminals(clients: Pick<ClientList, "connected">): Terminals {
  const listeners: (() => void)[] = [];
  let terminals: readonly Terminal[] = [];
  const names = new Map<string, string>();

  async function find({ id, ports }: Client): Promise<void> {
    if (!ports || names.has(id) || terminals.length === 0) return;
    const table = await platform.processes();
    for (const { name, pid } of terminals) {
      if (pid === undefined) continue;
      const connections = await platform.connections(familyOf(table, pid), [ports.own]);
      if (!connections.some(({ own }) => own === ports.client)) continue;
      names.set(id, name);
      for (const listener of listeners) listener();
      return;
    }
  }

  return {
    onFound: (listener) => void listeners.push(listener),
    nameOf: (sessionId) => names.get(sessionId),
    directoryOf: (sessionId) => terminals.find(({ name }) => name === names.get(sessionId))?.cwd,
    find,
    forget: ({ id }) => void names.delete(id),
    async contains(name, pid) {
      const shell = terminals.find((terminal) => terminal.name === name)?.pid;
      if (shell === undefined || pid === undefined) return false;
      return familyOf(await platform.processes(), shell).includes(pid);
    },
    handlers: {
      async terminals(event) {
        terminals = event.terminals;
        for (const client of clients.connected()) await find(client);
      },
    },
  };
}
