/**
 * Sends the context (open files, cursor and selection) to every connected CLI. Converts Neovim's snapshots to
 * notifications `ide/contextUpdate`.
 */
import { isDeepStrictEqual } from "node:util";
import type { Log } from "../base/log.ts";
import { IdeContext } from "../contract/companion.ts";
import type { Shared, Snapshot } from "../contract/neovim.ts";
import type { Client, ClientList } from "../http/client.ts";
import { encode } from "../http/notification.ts";
import type { Bridge } from "../neovim/bridge.ts";
import { createContext } from "./context.ts";
import { SUBSCRIPTION } from "./snapshot-subscription.ts";

interface ContextPublisher {
  /** Called when a client has connected. Sends the context to the client as soon as the first snapshot is complete. */
  connected(client: Client): void;
  /** Called when a client has disconnected. If no client is left, tells Neovim to stop sending snapshots. */
  disconnected(): void;
  snapshot(snapshot: Snapshot): void;
}

interface ContextPublisherOptions {
  bridge: Bridge;
  log: Log;
  clients: Pick<ClientList, "connected">;
  /** Called when the list of shared files has changed. */
  shared: (shared: Shared | undefined) => void;
}

export function createContextPublisher(options: ContextPublisherOptions): ContextPublisher {
  const { bridge, log, clients } = options;
  const context = createContext({
    changed: () => publish(() => true),
    report: ({ file, reason }) => log.warn(`${file} ${reason}: nothing in its folder is shared`),
  });
  /** Ids of connected clients that have not received a context yet. */
  const waiting = new Set<string>();
  let subscribed = false;
  /** True if the first snapshot of the current subscription is complete. */
  let ready = false;
  let reported: Shared | undefined;

  function reportShared(now: Shared | undefined): void {
    if (isDeepStrictEqual(now, reported)) return;
    reported = now;
    options.shared(now);
  }

  /** Sends the context to the connected clients that match the predicate. */
  function publish(wants: (client: Client) => boolean): void {
    if (!subscribed) return;
    send(clients.connected().filter(wants));
    reportShared(context.shared());
  }

  function send(to: readonly Client[]): void {
    if (to.length === 0) return;
    const current = IdeContext.safeParse(context.current());
    // The CLI would disconnect for good after a message that its schema refuses. Sends nothing, so that the CLI keeps
    // the previous context.
    if (!current.success) {
      log.error("a context was not sent:", current.error.issues);
      return;
    }
    const notification = encode("ide/contextUpdate", current.data);
    const message = { context: current.data, selected: context.selected(), notification };
    for (const client of to) {
      waiting.delete(client.id);
      client.sendContext(message);
    }
  }

  return {
    connected(client) {
      if (ready) return send([client]);
      waiting.add(client.id);
      if (subscribed) return;
      subscribed = true;
      bridge.tell("context_subscribe", SUBSCRIPTION);
    },
    disconnected() {
      if (!subscribed || clients.connected().length > 0) return;
      subscribed = ready = false;
      waiting.clear();
      context.close();
      reportShared(undefined);
      bridge.tell("context_unsubscribe", {});
    },
    snapshot(snapshot) {
      // A snapshot may arrive after the last client has disconnected. It must not start watching files.
      if (!subscribed) return;
      const changed = context.apply(snapshot);
      if (snapshot.more) return;
      ready = true;
      publish(({ id }) => changed !== undefined || waiting.has(id));
    },
  };
}
