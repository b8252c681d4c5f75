/**
 * The standalone event stream of a session. It carries notifications to a CLI. Does not use the SDK's streams: they
 * would encode each message again for every session, and pass it through three streams (measurements in
 * bench/README.md).
 */
import type { ServerResponse } from "node:http";
import { BoundedEventStore } from "./event-store.ts";
import { encodeMessage, type Notification } from "./notification.ts";

export interface EventStream {
  /** Whether a client is reading the event stream. */
  readonly isConnected: boolean;
  /** Sends the context if a client is connected. A slow reader gets only the newest context. */
  notify(notification: Notification): void;
  /**
   * Sends the user's decision as soon as a client is connected.
   * @returns true after the decision was sent; false if the session ended first
   */
  deliver(notification: Notification): Promise<boolean>;
  /**
   * Continues the event stream on a new response, and ends the previous response.
   * @param lastId the last event that the client received, if any
   */
  connect(response: ServerResponse, lastId: string | undefined): void;
  /** Ends the event stream. Reports unsent decisions as not sent. Idempotent. */
  close(): void;
}

interface EventStreamOptions {
  /** Interval of keep-alive comments (milliseconds). */
  keepAlive: number;
  /** Called when the response has ended and no new response has replaced it. */
  disconnected(): void;
}

/** A decision whose delivery is not confirmed yet. */
interface UnsentDecision {
  readonly notification: Notification;
  readonly report: (isSent: boolean) => void;
}

export function createEventStream({ keepAlive, disconnected }: EventStreamOptions): EventStream {
  const store = new BoundedEventStore();
  /**
   * Unsent decisions by event id, in the order of the user's decisions. The event store keeps the event of each
   * decision until the decision is sent.
   */
  const awaited = new Map<string, UnsentDecision>();
  let current: ServerResponse | undefined;
  /** The newest context, held back until the client has read the earlier events. */
  let late: Notification | undefined;
  let alive: NodeJS.Timeout | undefined;
  let closed = false;

  /** Marks an event as sent. If the event is a decision, resolves the promise of `deliver`. */
  function markSent(id: string): void {
    awaited.get(id)?.report(true);
    awaited.delete(id);
    store.unpin(id);
  }

  function write(response: ServerResponse, id: string, { data }: Notification): void {
    let pieces = 0;
    // Called for each piece of the message: when the socket has taken the piece, or with an error.
    const taken = (error: unknown) => {
      pieces -= 1;
      if (error) return;
      if (pieces === 0) markSent(id);
      sendLate();
    };
    response.cork();
    response.write(`event: message\nid: ${id}\ndata: `);
    for (const piece of data()) {
      pieces += 1;
      response.write(piece, taken);
      response.uncork(); // sends the header and the first piece in one packet
      response.cork();
    }
    response.uncork();
  }

  /** Sends the events that the client has missed. Marks all other events as sent. */
  function replay(response: ServerResponse, lastId: string | undefined): void {
    // If the client's last event is unknown, for example because an earlier host has sent it, sends only the unsent
    // decisions.
    const missed = (lastId === undefined ? undefined : store.after(lastId)) ?? store.pinned();
    // The store keeps every unsent decision. The client has therefore seen each decision that is not in `missed`.
    const unseen = new Set(missed.map(({ id }) => id));
    for (const id of [...awaited.keys()]) if (!unseen.has(id)) markSent(id);
    for (const { id, message } of missed)
      write(response, id, awaited.get(id)?.notification ?? encodeMessage(message));
  }

  function sendLate(): void {
    if (!current || !late || isBehind(current)) return;
    const next = late;
    late = undefined; // set before `write`, which may call sendLate again
    write(current, store.add(next.message), next);
  }

  /** Ends the current response. */
  function release(): void {
    clearInterval(alive);
    // Destroys a response that the client does not read, because `end` would wait for the client.
    if (current && isBehind(current)) current.destroy();
    else current?.end();
    current = late = undefined;
  }

  return {
    get isConnected() {
      return current !== undefined;
    },
    notify(notification) {
      late = notification;
      sendLate();
    },
    deliver: (notification) =>
      new Promise((report) => {
        if (closed) return report(false);
        const id = store.add(notification.message, true);
        awaited.set(id, { notification, report });
        if (current) write(current, id, notification);
      }),
    connect(response, lastId) {
      release();
      current = response;
      alive = setInterval(() => response.write(": keepalive\n\n"), keepAlive);
      onceClosed(response, () => {
        if (current !== response) return;
        release();
        disconnected();
      });
      response.on("error", () => {}); // the "close" event follows, and has a handler
      replay(response, lastId);
    },
    close() {
      closed = true;
      release();
      for (const { report } of awaited.values()) report(false);
      awaited.clear();
    },
  };
}

/**
 * Whether the client has not yet read all sent data. Checks the response and its socket, because corked data reaches
 * the socket later.
 */
function isBehind(response: ServerResponse): boolean {
  return response.writableNeedDrain || (response.socket?.writableNeedDrain ?? false);
}

/** Calls `run` when the response closes, or at once if it is already closed. */
export function onceClosed(response: ServerResponse, run: () => void): void {
  if (response.closed || response.destroyed) run();
  else response.once("close", run);
}
