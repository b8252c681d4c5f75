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

/** Time for clients to reconnect if the host has restarted so fast that they have not noticed it. */
const RECONNECT_TIMEOUT_MS = 3_000;

/** Time for clients with WebSockets to reconnect. They try for 16 s. */
const SOCKET_RECONNECT_TIMEOUT_MS = 17_000;

/**
 * After a restart of the host, the user must act: Gemini CLI 0.61.0 and Qwen Code 0.24.4 keep reading from the new
 * host, but show "Disconnected" and send nothing.
 */
const RECONNECT_HINT = 'To reconnect a CLI that shows "Disconnected", type /ide enable there.';

export interface Clients {
  readonly terminals: Terminals;
  readonly agents: AgentClients;
  readonly activity: ClientActivity;
  /** Name of a CLI for the user. */
  labelOf(cli: string): string;
  /** Name of the terminal in which an agent runs, if known. */
  terminalOf(agent: Agent): string | undefined;
  /** Returns the names by which messages refer to a session's client and to its CLI. */
  nameOf(session: Pick<Client, "id" | "info">): { client: string; label: string };
  /** Counts the CLIs of a profile that are connected and do not show "Disconnected". */
  connected(cli: string): number;
  /** Reports all connected clients to Lua. */
  report(): void;
}

interface ClientsOptions {
  bridge: Bridge;
  sessions: Pick<ClientList, "connected">;
  profiles: readonly Profile[];
  /** Ids of sessions whose clients have noticed that an earlier host ended. */
  interrupted: readonly string[];
  /** Whether the earlier host stopped so recently that its clients have not noticed the stop. */
  isSeamless: boolean;
  /** Agents whose hooks were received by an earlier host that crashed. */
  heard: readonly HeardAgent[];
  /** Stores all agents whose hooks were received, so that the next host knows them after a crash. */
  remember(agents: HeardAgent[]): void;
  /** Whether to reconnect CLIs after a host crash. */
  reconnect: boolean;
  report: (change: Partial<Status>) => void;
  /** Called when a turn has ended because the user has stopped the agent. */
  stopped(agent: Agent): void;
  /** Called when a CLI in a terminal of Neovim has not reconnected after a restart of the host. */
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
    lost({ name: terminal, cli }) {
      const isSocket = profiles.find(({ name }) => name === cli)?.socket !== undefined;
      const hint = isSocket ? `To reconnect ${labelOf(cli)}, type /ide there.` : RECONNECT_HINT;
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
