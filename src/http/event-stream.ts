/**
 * The standalone event stream of a session. It carries notifications to a CLI, and stores recent events to send them
 * again after an interruption. Does not use the SDK's streams: they would encode each message again for every session,
 * and pass it through three streams (measurements in bench/README.md).
 */
import { randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Notification } from "./notification.ts";

export interface EventStream {
  /** Whether a client is reading the event stream. */
  readonly isConnected: boolean;
  /** Sends the context if a client is connected. A slow reader gets only the newest context. */
  sendContext(notification: Notification): void;
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

interface StoredEvent {
  readonly number: number;
  readonly notification: Notification;
  /** Total length of the strings in the message (UTF-16 units). */
  readonly length: number;
  /** Resolves the promise of `deliver`. Undefined for a context, and after the event was sent. */
  report: ((isSent: boolean) => void) | undefined;
}

/** Maximum number of stored events. */
const MAX_EVENTS = 64;

/** Maximum total `length` of the stored events (UTF-16 units). */
const MAX_LENGTH = 64 * 1024 * 1024;

export function createEventStream({ keepAlive, disconnected }: EventStreamOptions): EventStream {
  /** Event ids start with this random part, so that ids from an earlier host do not match. */
  const origin = randomBytes(6).toString("base64url");
  /** The stored events, oldest first. */
  let events: StoredEvent[] = [];
  let lastNumber = 0;
  let current: ServerResponse | undefined;
  /** The newest context, held back until the client has read the earlier events. */
  let nextContext: Notification | undefined;
  let alive: NodeJS.Timeout | undefined;
  let closed = false;

  function store(notification: Notification, report?: StoredEvent["report"]): StoredEvent {
    lastNumber += 1;
    const event = { number: lastNumber, notification, length: lengthOf(notification.message), report };
    // Keeps only the newest context, because an older context is stale.
    if (isContext(event)) events = events.filter((one) => !isContext(one));
    events.push(event);
    makeRoom();
    return event;
  }

  /** Drops the oldest events beyond the limits. Keeps unsent decisions and the newest event. */
  function makeRoom(): void {
    let count = events.length;
    let length = events.reduce((total, event) => total + event.length, 0);
    events = events.filter((event) => {
      if (count <= MAX_EVENTS && length <= MAX_LENGTH) return true;
      if (event.report || event.number === lastNumber) return true;
      count -= 1;
      length -= event.length;
      return false;
    });
  }

  /** Marks an event as sent. If the event is a decision, resolves the promise of `deliver`. */
  function markSent(event: StoredEvent): void {
    event.report?.(true);
    event.report = undefined;
    makeRoom();
  }

  function write(response: ServerResponse, event: StoredEvent): void {
    let pieces = 0;
    // Called for each piece of the message: when the socket has taken the piece, or with an error.
    const taken = (error: unknown) => {
      pieces -= 1;
      if (error) return;
      if (pieces === 0) markSent(event);
      sendNextContext();
    };
    response.cork();
    response.write(`event: message\nid: ${origin}.${event.number}\ndata: `);
    for (const piece of event.notification.data()) {
      pieces += 1;
      response.write(piece, taken);
      response.uncork(); // sends the header and the first piece in one packet
      response.cork();
    }
    response.uncork();
  }

  /** Sends the events that the client has missed. Marks all other events as sent. */
  function replay(response: ServerResponse, lastId: string | undefined): void {
    const known = lastId === undefined ? undefined : numberOf(lastId);
    // If the client's last event is unknown, for example because an earlier host has sent it, sends only the unsent
    // decisions.
    const isMissed = ({ number, report }: StoredEvent) => (known === undefined ? report : number > known);
    const missed = events.filter(isMissed);
    for (const event of events.filter((one) => !isMissed(one))) markSent(event);
    for (const event of missed) write(response, event);
  }

  /** Parses an event id. @returns undefined if this stream has not assigned the id */
  function numberOf(id: string): number | undefined {
    const [, given, digits] = /^([\w-]+)\.(\d+)$/.exec(id) ?? [];
    // Refuses a number that was never assigned: such a number would mark every event as seen.
    return given === origin && Number(digits) <= lastNumber ? Number(digits) : undefined;
  }

  function sendNextContext(): void {
    if (!current || !nextContext || isBehind(current)) return;
    const next = nextContext;
    nextContext = undefined; // set before `write`, which may call sendNextContext again
    write(current, store(next));
  }

  /** Ends the current response. */
  function release(): void {
    clearInterval(alive);
    // Destroys a response that the client does not read, because `end` would wait for the client.
    if (current && isBehind(current)) current.destroy();
    else current?.end();
    current = nextContext = undefined;
  }

  return {
    get isConnected() {
      return current !== undefined;
    },
    sendContext(notification) {
      nextContext = notification;
      sendNextContext();
    },
    deliver: (notification) =>
      new Promise((report) => {
        if (closed) return report(false);
        const event = store(notification, report);
        if (current) write(current, event);
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
      for (const { report } of events) report?.(false);
      events = [];
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

/**
 * Returns the total length of all strings in a value (UTF-16 units). Does not encode the value as JSON, which would
 * take long for long messages.
 */
function lengthOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce<number>((total, part) => total + lengthOf(part), 0);
}

function isContext({ notification: { message } }: StoredEvent): boolean {
  return "method" in message && message.method === "ide/contextUpdate";
}

/** Calls `run` when the response closes, or at once if it is already closed. */
export function onceClosed(response: ServerResponse, run: () => void): void {
  if (response.closed || response.destroyed) run();
  else response.once("close", run);
}
