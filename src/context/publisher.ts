/** Carries the editor's context to every connected CLI: from a snapshot to `ide/contextUpdate`. */
import { isDeepStrictEqual } from "node:util";
import type { Log } from "../base/log.ts";
import { IdeContext } from "../contract/companion.ts";
import type { Shared, Snapshot } from "../contract/neovim.ts";
import { encode } from "../http/notification.ts";
import type { Session, Sessions } from "../http/sessions.ts";
import type { Bridge } from "../neovim/bridge.ts";
import { createContext } from "./context.ts";
import { SUBSCRIPTION } from "./subscription.ts";

export interface ContextPublisher {
  /** The session's stream is open: it gets the context now, or with the first snapshot. */
  connected(session: Session): void;
  /** A stream closed: without any, nothing is read from the editor. */
  disconnected(): void;
  snapshot(snapshot: Snapshot): void;
}

export interface ContextPublisherOptions {
  bridge: Bridge;
  log: Log;
  sessions: Pick<Sessions, "connected">;
  /** Told of what is shared, whenever that is something else. */
  shared: (shared: Shared | undefined) => void;
}

export function createContextPublisher(options: ContextPublisherOptions): ContextPublisher {
  const { bridge, log, sessions } = options;
  const context = createContext({
    changed: () => publish(() => true),
    report: ({ file, reason }) => log.warn(`nothing below is shared: ${file} ${reason}`),
  });
  /** Sessions that have not been sent anything since their stream opened. */
  const waiting = new Set<string>();
  let subscribed = false;
  /** The first snapshot of this subscription is complete. */
  let ready = false;
  let shared: Shared | undefined;

  function share(now: Shared | undefined): void {
    if (isDeepStrictEqual(now, shared)) return;
    shared = now;
    options.shared(now);
  }

  /** To those of the connected that `wants` picks. */
  function publish(wants: (session: Session) => boolean): void {
    if (!subscribed) return;
    send(sessions.connected().filter(wants));
    share(context.shared());
  }

  function send(to: readonly Session[]): void {
    if (to.length === 0) return;
    const current = IdeContext.safeParse(context.current());
    // One message that the CLI's schema refuses disconnects it for good: better the previous one.
    if (!current.success) {
      log.error("a context was not sent:", current.error.issues);
      return;
    }
    const notification = encode("ide/contextUpdate", current.data);
    for (const session of to) {
      waiting.delete(session.id);
      session.notify(notification);
    }
  }

  return {
    connected(session) {
      if (ready) return send([session]);
      waiting.add(session.id);
      if (subscribed) return;
      subscribed = true;
      bridge.tell("context_subscribe", SUBSCRIPTION);
    },
    disconnected() {
      if (!subscribed || sessions.connected().length > 0) return;
      subscribed = ready = false;
      waiting.clear();
      context.close();
      share(undefined);
      bridge.tell("context_unsubscribe", {});
    },
    snapshot(snapshot) {
      // One that was on its way when the last client left would watch files for nobody.
      if (!subscribed) return;
      const changed = context.apply(snapshot);
      if (snapshot.more) return;
      ready = true;
      publish(({ id }) => changed !== undefined || waiting.has(id));
    },
  };
}
