/** Sends the editor's context to every connected CLI: from a snapshot to `ide/contextUpdate`. */
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
  /** Called when a client has connected. Sends it the context, at once or as soon as the first snapshot is complete. */
  connected(client: Client): void;
  /** Called when a client has disconnected. Unsubscribes from Neovim after the last client. */
  disconnected(): void;
  snapshot(snapshot: Snapshot): void;
}

interface ContextPublisherOptions {
  bridge: Bridge;
  log: Log;
  clients: Pick<ClientList, "connected">;
  /** Called when the shared files have changed. */
  shared: (shared: Shared | undefined) => void;
}

export function createContextPublisher(options: ContextPublisherOptions): ContextPublisher {
  const { bridge, log, clients } = options;
  const context = createContext({
    changed: () => publish(() => true),
    report: ({ file, reason }) => log.warn(`${file} ${reason}: nothing in its folder is shared`),
  });
  /** Clients that have not received a context since they connected. */
  const waiting = new Set<string>();
  let subscribed = false;
  /** Whether the first snapshot of this subscription is complete. */
  let ready = false;
  let shared: Shared | undefined;

  function share(now: Shared | undefined): void {
    if (isDeepStrictEqual(now, shared)) return;
    shared = now;
    options.shared(now);
  }

  /** Sends the context to the connected clients that match the predicate. */
  function publish(wants: (client: Client) => boolean): void {
    if (!subscribed) return;
    send(clients.connected().filter(wants));
    share(context.shared());
  }

  function send(to: readonly Client[]): void {
    if (to.length === 0) return;
    const current = IdeContext.safeParse(context.current());
    // Sends nothing, so that the CLI keeps the previous context. A message that the CLI's schema refuses would
    // disconnect the CLI for good.
    if (!current.success) {
      log.error("a context was not sent:", current.error.issues);
      return;
    }
    const notification = encode("ide/contextUpdate", current.data);
    const shared = { context: current.data, selected: context.selected(), notification };
    for (const client of to) {
      waiting.delete(client.id);
      client.share(shared);
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
      share(undefined);
      bridge.tell("context_unsubscribe", {});
    },
    snapshot(snapshot) {
      // A snapshot that arrives after the last client left must not start watching files.
      if (!subscribed) return;
      const changed = context.apply(snapshot);
      if (snapshot.more) return;
      ready = true;
      publish(({ id }) => changed !== undefined || waiting.has(id));
    },
  };
}
