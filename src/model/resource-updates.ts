/** Notifies clients when MCP resources change. */
import type { EventPayload } from "../contract/neovim.ts";
import { encodeMessage } from "../http/notification.ts";
import type { Session } from "../http/sessions.ts";
import type { Bridge } from "../neovim/bridge.ts";
import { isAbout } from "./resources.ts";

/** Minimum interval between notifications. Without this interval, each typed key could cause a notification. */
const NOTIFICATION_INTERVAL_MS = 300;

type Follower = Pick<Session, "id" | "isConnected" | "deliver">;

interface ResourceUpdates {
  /** Notifies a client of changes from now on. @param uris live set of the client's subscriptions */
  follow(session: Follower, uris: ReadonlySet<string>): void;
  /** Tells Neovim which changes to report. Must be called when a client has connected, disconnected or subscribed. */
  watch(): void;
  ended(session: Pick<Follower, "id">): void;
  changed(payload: EventPayload<"model_changed">): void;
  /** Stops sending notifications. Idempotent. */
  close(): void;
}

export function createResourceUpdates(bridge: Pick<Bridge, "tell">): ResourceUpdates {
  /**
   * Clients by session id. `untaken` contains the notifications that the client has not read yet (method and URI), so
   * that none of them is sent twice.
   */
  const followers = new Map<string, { session: Follower; uris: ReadonlySet<string>; untaken: Set<string> }>();
  let what = new Set<EventPayload<"model_changed">["what"][number]>();
  let due: NodeJS.Timeout | undefined;
  let watching = { on: false, selection: false };

  function tell(to: { session: Follower; untaken: Set<string> }, method: string, uri?: string): void {
    const key = `${method} ${uri}`;
    if (!to.session.isConnected || to.untaken.has(key)) return;
    to.untaken.add(key);
    const message = { jsonrpc: "2.0" as const, method, ...(uri !== undefined && { params: { uri } }) };
    void to.session.deliver(encodeMessage(message)).then(() => to.untaken.delete(key));
  }

  function publish(): void {
    const changed = [...what];
    what = new Set();
    due = undefined;
    for (const follower of followers.values()) {
      if (changed.includes("buffers")) tell(follower, "notifications/resources/list_changed");
      for (const uri of follower.uris)
        if (isAbout(uri, changed)) tell(follower, "notifications/resources/updated", uri);
    }
  }

  function watch(): void {
    const listening = [...followers.values()].filter(({ session }) => session.isConnected);
    const wanted = {
      on: listening.length > 0,
      selection: listening.some(({ uris }) => uris.has("nvim://selection")),
    };
    if (wanted.on === watching.on && wanted.selection === watching.selection) return;
    watching = wanted;
    bridge.tell("model_watch", wanted);
  }

  return {
    follow: (session, uris) => void followers.set(session.id, { session, uris, untaken: new Set() }),
    watch,
    ended({ id }) {
      followers.delete(id);
      watch();
    },
    changed(payload) {
      for (const each of payload.what) what.add(each);
      due ??= setTimeout(publish, NOTIFICATION_INTERVAL_MS);
    },
    close() {
      clearTimeout(due);
      followers.clear();
    },
  };
}
