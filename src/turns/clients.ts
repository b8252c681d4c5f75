/** Describes the connected CLIs for the user: name, terminal and activity. */
import { CLI_NAME } from "../contract/companion.ts";
import type { Agent } from "../contract/hooks.ts";
import type { HeardAgent } from "../contract/memory.ts";
import type { Status } from "../contract/neovim.ts";
import type { Client, ClientList } from "../http/client.ts";
import type { Bridge } from "../neovim/bridge.ts";
import type { Profile } from "../profiles/profiles.ts";
import { type ClientActivity, createActivity } from "./activity.ts";
import { type AgentClients, createAgentClients } from "./agent-clients.ts";
import { createTerminals, type Terminals } from "./terminals.ts";

/**
 * Time for clients to reconnect after a fast restart of the host process. Clients may not notice such a restart at
 * once.
 */
const RECONNECT_TIMEOUT_MS = 3_000;

/** Time for clients with WebSockets to reconnect. Such clients try for 16 s. */
const SOCKET_RECONNECT_TIMEOUT_MS = 17_000;

/**
 * Gemini CLI 0.61.0 and Qwen Code 0.24.4 do not recover from a restart of the host process by themselves: they keep
 * reading notifications, but show "Disconnected" and send nothing.
 */
const RECONNECT_HINT = 'To reconnect a CLI that shows "Disconnected", type /ide enable in its terminal.';

export interface Clients {
  readonly terminals: Terminals;
  readonly agents: AgentClients;
  readonly activity: ClientActivity;
  /** Returns the name of a CLI for messages to the user. */
  labelOf(cli: string): string;
  /** Name of the terminal in which an agent runs, if known. */
  terminalOf(agent: Agent): string | undefined;
  /** Returns names for messages: the name of a session's client, and the name of its CLI. */
  nameOf(session: Pick<Client, "id" | "info">): { client: string; label: string };
  /** Returns the number of connected CLIs of a profile. Does not count CLIs that show "Disconnected". */
  connected(cli: string): number;
  /** Reports all connected clients to Lua. */
  report(): void;
}

interface ClientsOptions {
  bridge: Bridge;
  sessions: Pick<ClientList, "connected">;
  profiles: readonly Profile[];
  /** Ids of sessions whose clients have noticed that the host process ended. */
  interrupted: readonly string[];
  /** True if the host process restarted so fast that clients have not noticed the restart. */
  isSeamless: boolean;
  /** Agents that sent hook events before a crash of the host process. */
  heard: readonly HeardAgent[];
  /** Stores all agents that have sent hook events, so that they are known after a crash of the host process. */
  remember(agents: HeardAgent[]): void;
  /** True if CLIs are to be reconnected after a crash of the host process. */
  reconnect: boolean;
  report: (change: Partial<Status>) => void;
  /** Called when a turn has ended because the user has stopped the agent. */
  stopped(agent: Agent): void;
  /** Called when a CLI in a terminal of Neovim has not reconnected after a restart of the host process. */
  lost: (cli: { terminal: string; types: boolean; isAsked: boolean; hint: string }) => void;
}

export function createClients({ bridge, sessions, profiles, ...options }: ClientsOptions): Clients {
  const interrupted = new Set(options.interrupted);
  const labelOf = (cli: string) => profiles.find(({ name }) => name === cli)?.label ?? cli;
  const report = () =>
    options.report({ clients: sessions.connected().map(describe), hooks: agents.hasHeard });
  const terminals = createTerminals({
    sessions,
    found: report,
    /** Tells the user that a CLI has not reconnected after a restart of the bridge. */
    lost({ name: terminal, cli }) {
      const isSocket = profiles.find(({ name }) => name === cli)?.socket !== undefined;
      const hint = isSocket
        ? `${labelOf(cli)} has lost its connection. To reconnect, type /ide in its terminal.`
        : RECONNECT_HINT;
      const tell = () =>
        options.lost({ terminal, types: options.reconnect && !isSocket, isAsked: false, hint });
      const tellIfGone = () => {
        const connected = sessions.connected().filter(({ id }) => !interrupted.has(id));
        if (!connected.some(({ id }) => terminals.nameOf(id) === terminal)) tell();
      };
      if (isSocket) setTimeout(tellIfGone, SOCKET_RECONNECT_TIMEOUT_MS).unref();
      else if (options.isSeamless) setTimeout(tellIfGone, RECONNECT_TIMEOUT_MS).unref();
      else tell();
    },
  });
  const agents = createAgentClients({
    sessions,
    earlier: options.heard,
    found: report,
    remember: options.remember,
  });
  const activity = createActivity({
    clients: agents,
    terminalOf: terminals.nameOf,
    changed: report,
    tell: (turn) => bridge.tell("turn", turn),
    stopped: options.stopped,
  });
  const describe = ({ id, info: { credential: cli, name, version, connectedAt }, ports }: Client) => ({
    id,
    cli,
    label: labelOf(cli),
    name,
    version,
    connectedAt,
    port: ports?.client,
    interrupted: interrupted.has(id) && name === CLI_NAME,
    activity: activity.of(id),
    hooks: agents.hasHooks(id),
    terminal: terminals.nameOf(id),
  });

  return {
    terminals,
    agents,
    activity,
    labelOf,
    terminalOf(agent) {
      const id = agents.known(agent);
      return id === undefined ? undefined : terminals.nameOf(id);
    },
    nameOf: ({ id, info }) => ({
      client: terminals.nameOf(id) ?? info.name,
      label: labelOf(info.credential),
    }),
    connected: (cli) =>
      sessions
        .connected()
        .map(describe)
        .filter((client) => client.cli === cli && !client.interrupted).length,
    report,
  };
}
