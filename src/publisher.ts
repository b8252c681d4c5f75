/** Carries the editor's context to every connected CLI. */
import type { Session, Sessions } from "./http/sessions.ts";
import { CONTEXT_EVENTS, createContext } from "./ide/context.ts";
import { IdeContext, MAX_SELECTED_TEXT } from "./ide/wire.ts";
import type { Log } from "./log.ts";
import type { Bridge } from "./nvim/bridge.ts";
import type { Snapshot } from "./nvim/protocol.ts";

/** The companion specification recommends this pause after the last event (milliseconds). */
const DEBOUNCE = 50;

/** Under constant movement the context is sent at least this often (milliseconds). */
const MAX_WAIT = 250;

export interface Publisher {
  /** The session's stream is open: it gets the context now, or with the first snapshot. */
  opened(session: Session): void;
  /** A stream closed: without any, nothing is read from the editor. */
  dropped(): void;
  snapshot(snapshot: Snapshot): Promise<void>;
}

export interface PublisherOptions {
  bridge: Bridge;
  log: Log;
  sessions: () => Sessions;
}

export function createPublisher({ bridge, log, sessions }: PublisherOptions): Publisher {
  const context = createContext();
  /** Sessions that have not been sent anything since their stream opened. */
  const waiting = new Set<string>();
  let subscribed = false;
  let known = false;

  function send(session: Session): void {
    const current = IdeContext.safeParse(context.current());
    // One message that the CLI's schema refuses disconnects it for good: better the previous one.
    if (!current.success) {
      log.error("a context was not sent:", current.error.issues);
      return;
    }
    waiting.delete(session.id);
    session.notify("ide/contextUpdate", current.data);
  }

  return {
    opened(session) {
      if (known) return send(session);
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
      bridge.tell("context_unsubscribe", {});
    },
    async snapshot(snapshot) {
      const changed = await context.apply(snapshot);
      if (!subscribed || snapshot.more) return;
      known = true;
      for (const session of sessions().open()) {
        if (changed || waiting.has(session.id)) send(session);
      }
    },
  };
}
