/** Tells the user that a CLI in a terminal of Neovim has not reconnected after a restart of the host process. */
import type { EventPayload } from "../contract/neovim.ts";
import type { ClientList } from "../http/client.ts";
import type { Profile } from "../profiles/profiles.ts";
import type { Terminals } from "./terminals.ts";

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

interface ReconnectHintsOptions {
  clients: Pick<ClientList, "connected">;
  profiles: readonly Profile[];
  terminals: Pick<Terminals, "nameOf">;
  /** Sessions whose clients have noticed that the host process ended. */
  interrupted: ReadonlySet<string>;
  /** True if the host process restarted so fast that clients have not noticed the restart. */
  isSeamless: boolean;
  /** Called when a CLI has not reconnected. */
  lost(cli: { terminal: string; types: boolean; isAsked: boolean; hint: string }): void;
}

/** Creates the handler for the list of terminals. */
export function createReconnectHints(options: ReconnectHintsOptions) {
  const { clients, profiles, terminals, interrupted } = options;

  function tell({ name: terminal, cli }: EventPayload<"terminals">["terminals"][number]): void {
    const profile = profiles.find(({ name }) => name === cli);
    const isSocket = profile?.socket !== undefined;
    const hint = isSocket
      ? `${profile.label} has lost its connection. To reconnect, type /ide in its terminal.`
      : RECONNECT_HINT;
    const tellNow = () => options.lost({ terminal, types: !isSocket, isAsked: false, hint });
    const tellIfGone = () => {
      const connected = clients.connected().filter(({ id }) => !interrupted.has(id));
      if (!connected.some(({ id }) => terminals.nameOf(id) === terminal)) tellNow();
    };
    if (isSocket) setTimeout(tellIfGone, SOCKET_RECONNECT_TIMEOUT_MS).unref();
    else if (options.isSeamless) setTimeout(tellIfGone, RECONNECT_TIMEOUT_MS).unref();
    else tellNow();
  }

  return (event: EventPayload<"terminals">): void => {
    for (const terminal of event.terminals.filter(({ lost }) => lost)) tell(terminal);
  };
}
