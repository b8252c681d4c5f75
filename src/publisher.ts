/** Carries the editor's context to every connected CLI. */
import { isDeepStrictEqual } from "node:util";
import { encode } from "./http/notification.ts";
import type { Session, Sessions } from "./http/sessions.ts";
import { CONTEXT_EVENTS, createContext } from "./ide/context.ts";
import { IdeContext, MAX_SELECTED_TEXT } from "./ide/wire.ts";
import type { Log } from "./log.ts";
import type { Bridge } from "./nvim/bridge.ts";
import type { Shared, Snapshot } from "./nvim/protocol.ts";

/** The companion specification recommends this pause after the last event (milliseconds). */
const DEBOUNCE = 50;

/** Under constant movement the context is out at least every 250 ms: the rest is for reading and sending it. */
const MAX_WAIT = 240;

export interface Publisher {
  /** The session's stream is open: it gets the context now, or with the first snapshot. */
  opened(session: Session): void;
  /** A stream closed: without any, nothing is read from the editor. */
  dropped(): void;
  snapshot(snapshot: Snapshot): void;
}

export interface PublisherOptions {
  bridge: Bridge;
  log: Log;
  sessions: () => Sessions;
  /** Told of what is shared, whenever that is something else. */
  shared: (shared: Shared | undefined) => void;
}

export function createPublisher({ bridge, log, sessions, shared }: PublisherOptions): Publisher {
  const context = createContext({ changed: () => publish(() => true) });
  /** Sessions that have not been sent anything since their stream opened. */
  const waiting = new Set<string>();
  let subscribed = false;
  let known = false;
  let told: Shared | undefined;

  function tell(now: Shared | undefined): void {
    if (isDeepStrictEqual(now, told)) return;
    told = now;
    shared(now);
  }

  /** To those of the connected that `wants` picks. */
  function publish(wants: (session: Session) => boolean): void {
    if (!subscribed) return;
    send(sessions().open().filter(wants));
    tell(context.shared());
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
    opened(session) {
      if (known) return send([session]);
      waiting.add(session.id);
      if (subscribed) return;
      subscribed = true;
      bridge.tell("context_subscribe", {
        events: CONTEXT_EVENTS,
        debounce: DEBOUNCE,
        maxWait: MAX_WAIT,
        maxSelection: MAX_SELECTED_TEXT,
      });
    },
    dropped() {
      if (!subscribed || sessions().open().length > 0) return;
      subscribed = known = false;
      waiting.clear();
      context.close();
      tell(undefined);
      bridge.tell("context_unsubscribe", {});
    },
    snapshot(snapshot) {
      const changed = context.apply(snapshot);
      if (!subscribed || snapshot.more) return;
      known = true;
      publish(({ id }) => changed !== undefined || waiting.has(id));
    },
  };
}
