/** Describes the connected CLIs for the user: name, terminal and activity. */
import { CLI_NAME } from "../contract/companion.ts";
import type { Agent } from "../contract/hooks.ts";
import type { Status } from "../contract/neovim.ts";
import type { Activity } from "../contract/status.ts";
import type { Client, ClientList } from "../http/client.ts";
import type { Profile } from "../profiles/profiles.ts";
import type { HooksOff } from "./hooks-off.ts";
import type { Terminals } from "./terminals.ts";
import type { Turns } from "./turns.ts";

/** Names of CLIs for messages to the user. */
export function createNames(profiles: readonly Profile[], turns: Turns, terminals: Terminals) {
  const labelOf = (cli: string) => profiles.find(({ name }) => name === cli)?.label ?? cli;
  return {
    labelOf,
    /** Returns the name of the terminal in which an agent runs, if known. */
    terminalOf(agent: Agent) {
      const id = turns.clientOf(agent);
      return id === undefined ? undefined : terminals.nameOf(id);
    },
    /** Returns the name of a session's client, and the name of its CLI. */
    nameOf: ({ id, info }: Pick<Client, "id" | "info">) => ({
      client: terminals.nameOf(id) ?? info.name,
      label: labelOf(info.credential),
    }),
  };
}

interface ClientStatusOptions {
  clients: Pick<ClientList, "connected">;
  labelOf: (cli: string) => string;
  turns: Turns;
  terminals: Pick<Terminals, "nameOf">;
  hooksOff: Pick<HooksOff, "reasonFor">;
  /** Sessions whose clients have noticed that the host process ended. */
  interrupted: ReadonlySet<string>;
  /** Returns whether a review of a session waits for the user. */
  isReviewing: (sessionId: string) => boolean;
  report: (change: Partial<Status>) => void;
}

export function createClientStatus(options: ClientStatusOptions) {
  const { clients, labelOf, turns, terminals, hooksOff, isReviewing } = options;
  /** Returns whether a client shows "Disconnected". */
  const isInterrupted = ({ id, info }: Client) => options.interrupted.has(id) && info.name === CLI_NAME;

  /**
   * Returns what the agents of a session are doing. An open review counts, too, because no hook reports its question
   * again after a crash of the host process. Without hooks, the activity is not known.
   */
  function activityOf(id: string): Activity {
    if (turns.hasHooks(id) && isReviewing(id)) return "waiting";
    return turns.activityOf(id) ?? "idle";
  }

  const describe = (client: Client) => {
    const { id, info, ports } = client;
    return {
      id,
      cli: info.credential,
      label: labelOf(info.credential),
      name: info.name,
      version: info.version,
      connectedAt: info.connectedAt,
      port: ports?.client,
      interrupted: isInterrupted(client),
      activity: activityOf(id),
      turn: turns.activityOf(id) !== undefined,
      hooks: turns.hasHooks(id),
      hooksOff: hooksOff.reasonFor(client),
      terminal: terminals.nameOf(id),
    };
  };

  /**
   * Lists the connected clients. Leaves out the interrupted sessions of CLIs that have reconnected. Such a session is
   * not ended, because the CLI would then show "Disconnected" again.
   */
  function listed() {
    const all = clients.connected().map(describe);
    return all.filter(({ id, cli, interrupted, terminal }, index) => {
      const isSame = (later: (typeof all)[number]) => later.cli === cli && later.terminal === terminal;
      const hasLater = terminal !== undefined && all.slice(index + 1).some(isSame);
      return !interrupted || !(hasLater || turns.isReplaced(id));
    });
  }

  return {
    /** Returns the number of connected CLIs of a profile. Does not count CLIs that show "Disconnected". */
    connected: (cli: string) =>
      clients.connected().filter((client) => client.info.credential === cli && !isInterrupted(client)).length,
    /** Reports all connected clients to Lua. */
    report: () => options.report({ clients: listed(), hooks: turns.hasHeard }),
  };
}
