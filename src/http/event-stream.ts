/**
 * A session's standalone event stream: what a CLI is told unasked. It is written here and not by the SDK, which encodes
 * each message anew for every session and passes it through three streams (bench/README.md says what that costs).
 */
import type { ServerResponse } from "node:http";
import { type BoundedEventStore, STANDALONE_STREAM } from "./event-store.ts";
import { encodeMessage, type Notification } from "./notification.ts";

export interface EventStream {
  /** A client reads it now. */
  readonly isConnected: boolean;
  /** Sends the context if a client is connected. To a slow reader only the newest goes. */
  notify(notification: Notification): void;
  /**
   * Sends a decision of the user's, as soon as a client is connected.
   * @returns whether it has left; it has not when the session ended first.
   */
  deliver(notification: Notification): Promise<boolean>;
  /**
   * Goes on with another response, and ends the one before.
   * @param lastId the event after which the client goes on; without it, it knows none
   */
  connect(response: ServerResponse, lastId: string | undefined): void;
  /** What has not left by now never will. May run twice. */
  close(): void;
}

export interface EventStreamOptions {
  store: BoundedEventStore;
  /** Milliseconds between two signs of life. */
  keepAlive: number;
  /** The response has ended, and no other has taken its place. */
  disconnected(): void;
}

/** A decision that has not left, as far as is known. */
interface Awaited {
  readonly notification: Notification;
  readonly report: (hasLeft: boolean) => void;
}

export function createEventStream({ store, keepAlive, disconnected }: EventStreamOptions): EventStream {
  /** By event id, in the order in which the user decided. Each event is pinned in the store. */
  const awaited = new Map<string, Awaited>();
  let current: ServerResponse | undefined;
  /** The newest context, while the reader has not yet taken what came before it. */
  let late: Notification | undefined;
  let alive: NodeJS.Timeout | undefined;
  let closed = false;

  /** The client has this event, or its kernel does. */
  function hasLeft(id: string): void {
    awaited.get(id)?.report(true);
    awaited.delete(id);
    store.unpin(id);
  }

  function write(response: ServerResponse, id: string, { data }: Notification): void {
    let pieces = 0;
    // Called when the socket has taken a piece, and with an error when it never will.
    const taken = (error: unknown) => {
      pieces -= 1;
      if (error) return;
      if (pieces === 0) hasLeft(id);
      sendLate();
    };
    response.cork();
    response.write(`event: message\nid: ${id}\ndata: `);
    for (const piece of data()) {
      pieces += 1;
      response.write(piece, taken);
      response.uncork(); // one packet, with what came before
      response.cork();
    }
    response.uncork();
  }

  /** Sends once more what the client has not seen; of what it has seen it said so itself. */
  function replay(response: ServerResponse, lastId: string | undefined): void {
    const missed = lastId === undefined ? store.pinned() : store.after(lastId);
    // What is awaited is in the store, so that it is missed, or has been seen.
    const unseen = new Set(missed.map(({ id }) => id));
    for (const id of [...awaited.keys()]) if (!unseen.has(id)) hasLeft(id);
    for (const { id, message } of missed)
      write(response, id, awaited.get(id)?.notification ?? encodeMessage(message));
  }

  function sendLate(): void {
    if (!current || !late || isBehind(current)) return;
    const next = late;
    late = undefined; // before the write, which may itself say that the reader is ready for more
    write(current, store.add(STANDALONE_STREAM, next.message), next);
  }

  /** Takes what is connected from its reader. */
  function release(): void {
    clearInterval(alive);
    // One that nobody reads would wait to be read before it ends.
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
        const id = store.add(STANDALONE_STREAM, notification.message, true);
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
      response.on("error", () => {}); // what cannot be written any more is seen at its end
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

/** Whether the reader has not yet taken what came before. A response that was corked knows nothing of its socket. */
function isBehind(response: ServerResponse): boolean {
  return response.writableNeedDrain || (response.socket?.writableNeedDrain ?? false);
}

/** Calls back when a response ends, also when it has ended by now. */
export function onceClosed(response: ServerResponse, run: () => void): void {
  if (response.closed || response.destroyed) run();
  else response.once("close", run);
}
