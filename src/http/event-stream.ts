/**
 * A session's standalone event stream: what a CLI is told unasked. It is written here and not by the SDK, which encodes
 * each message anew for every session and passes it through three streams; an event is at its client 0.1 ms sooner so,
 * and a decision of 10 MB 50 ms.
 */
import type { ServerResponse } from "node:http";
import { type BoundedEventStore, STANDALONE_STREAM } from "./event-store.ts";
import { encodeMessage, type Notification } from "./notification.ts";

export interface EventStream {
  readonly isOpen: boolean;
  /** Sends the context if the stream is open. To a slow reader only the newest goes. */
  notify(notification: Notification): void;
  /**
   * Sends a decision of the user's, as soon as the stream is open.
   * @returns whether it has left; it has not when the session ended first.
   */
  deliver(notification: Notification): Promise<boolean>;
  /**
   * Goes on with another response, and ends the one before.
   * @param lastId the event after which the client goes on; without it, it knows none
   */
  open(response: ServerResponse, lastId: string | undefined): void;
  /** What has not left by now never will. May run twice. */
  close(): void;
}

export interface EventStreamOptions {
  store: BoundedEventStore;
  /** Milliseconds between two signs of life. */
  keepAlive: number;
  /** The response has ended, and no other has taken its place. */
  dropped(): void;
}

interface Decision {
  readonly notification: Notification;
  /** Of its event, once it was given to a stream. */
  id: string | undefined;
  readonly settle: (delivered: boolean) => void;
}

export function createEventStream({ store, keepAlive, dropped }: EventStreamOptions): EventStream {
  /** In the order in which the user made them. */
  const decisions: Decision[] = [];
  let current: ServerResponse | undefined;
  /** The newest context, while the reader has not yet taken what came before it. */
  let late: Notification | undefined;
  let alive: NodeJS.Timeout | undefined;
  let closed = false;

  function write(response: ServerResponse, id: string, { data }: Notification, taken?: () => void): void {
    let left = 0;
    // Called when the socket has taken a piece, and with an error when it never will.
    const done = (error: unknown) => {
      left -= 1;
      if (!error && left === 0) taken?.();
    };
    response.cork();
    response.write(`event: message\nid: ${id}\ndata: `);
    for (const piece of data()) {
      left += 1;
      response.write(piece, done);
      response.uncork(); // one packet, with what came before
      response.cork();
    }
    response.uncork();
  }

  function settle(decision: Decision): void {
    const index = decisions.indexOf(decision);
    if (index >= 0) decisions.splice(index, 1);
    decision.settle(true);
  }

  function send(response: ServerResponse, decision: Decision): void {
    const { notification } = decision;
    decision.id = store.add(STANDALONE_STREAM, notification.message);
    write(response, decision.id, notification, () => settle(decision));
  }

  /** Sends once more what came after the last event that the client has seen, and settles what it has seen. */
  function replay(response: ServerResponse, lastId: string): void {
    const missed = store.after(lastId);
    for (const decision of decisions.filter(({ id }) => id !== undefined)) {
      if (!missed.some(({ id }) => id === decision.id)) settle(decision);
    }
    for (const { id, message } of missed) {
      const decision = decisions.find((one) => one.id === id);
      const notification = decision?.notification ?? encodeMessage(message);
      write(response, id, notification, () => decision && settle(decision));
    }
  }

  function sendLate(): void {
    if (!current || current.writableNeedDrain || !late) return;
    const next = late;
    late = undefined; // before the write, which may itself say that the reader is ready for more
    write(current, store.add(STANDALONE_STREAM, next.message), next);
  }

  /** Takes what is open from its reader. */
  function release(): void {
    clearInterval(alive);
    // One that nobody reads would wait to be read before it ends.
    if (current?.writableNeedDrain) current.destroy();
    else current?.end();
    current = late = undefined;
  }

  return {
    get isOpen() {
      return current !== undefined;
    },
    notify(notification) {
      late = notification;
      sendLate();
    },
    deliver: (notification) =>
      new Promise((settle) => {
        if (closed) return settle(false);
        const decision: Decision = { notification, id: undefined, settle };
        decisions.push(decision);
        if (current) send(current, decision);
      }),
    open(response, lastId) {
      release();
      current = response;
      alive = setInterval(() => response.write(": keepalive\n\n"), keepAlive);
      onceClosed(response, () => {
        if (current !== response) return;
        release();
        dropped();
      });
      response.on("error", () => {}); // what cannot be written any more is seen at its end
      response.on("drain", sendLate);
      if (lastId !== undefined) replay(response, lastId);
      for (const decision of decisions) {
        if (lastId === undefined || decision.id === undefined) send(response, decision);
      }
    },
    close() {
      closed = true;
      release();
      for (const { settle } of decisions.splice(0)) settle(false);
    },
  };
}

/** Calls back when a response ends, also when it has ended by now. */
export function onceClosed(response: ServerResponse, run: () => void): void {
  if (response.closed || response.destroyed) run();
  else response.once("close", run);
}
