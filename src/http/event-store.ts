/** Stores the recent events of a session, so that they can be replayed after its stream broke. */
import { randomBytes } from "node:crypto";
import type { EventStore } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";

/** The SDK's id for the event stream that a GET opens. */
export const STANDALONE_STREAM = "_GET_stream";

interface StoredEvent {
  number: number;
  streamId: string;
  message: JSONRPCMessage;
  /** Total length of the strings in the message (UTF-16 units). */
  size: number;
  /** Delivery is not confirmed yet. Pinned events are kept, even beyond the bounds. */
  pinned: boolean;
}

export interface Bounds {
  /** Number of events. */
  count: number;
  /** Total `size` of all events (UTF-16 units). The newest event is always kept. */
  size: number;
}

export interface SentEvent {
  readonly id: string;
  readonly message: JSONRPCMessage;
}

const BOUNDS: Bounds = { count: 64, size: 64 * 1024 * 1024 };

const EVENT_ID = /^([\w-]+)\.(\d+)\.(.+)$/;

/**
 * A bounded store for one session. An event id holds the store, the event's number and its stream, so that a stream can
 * be resumed after its last event was dropped. The random first part tells the ids of an earlier host apart. (The SDK's
 * example store splits ids at a separator that occurs in the name of the standalone stream, and needs the event.)
 */
export class BoundedEventStore implements EventStore {
  readonly #origin = randomBytes(6).toString("base64url");
  #events: StoredEvent[] = [];
  #size = 0;
  #last = 0;
  readonly #bounds: Bounds;

  constructor(bounds: Bounds = BOUNDS) {
    this.#bounds = bounds;
  }

  storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    return Promise.resolve(this.add(streamId, message));
  }

  /**
   * @param pinned keeps the event until `unpin`. A dropped event would look like a delivered one.
   * @returns the event's id
   */
  add(streamId: string, message: JSONRPCMessage, pinned = false): string {
    const number = ++this.#last;
    // Only the newest context counts. Replaying an older one would send stale data.
    if (isContext(message)) this.#drop(this.#events.findIndex((event) => isContext(event.message)));
    const size = sizeOf(message);
    this.#events.push({ number, streamId, message, size, pinned });
    this.#size += size;
    this.#makeRoom();
    return this.#id(number, streamId);
  }

  /** Marks an event as delivered. */
  unpin(id: string): void {
    const number = this.#parse(id)?.number;
    const event = this.#events.find((one) => one.number === number);
    if (!event) return;
    event.pinned = false;
    this.#makeRoom();
  }

  /** The pinned events, oldest first. */
  pinned(): SentEvent[] {
    return this.#events.filter(({ pinned }) => pinned).map((event) => this.#sent(event));
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.streamOf(id);
  }

  /** @returns the stream of an event of this store; for the standalone stream also if the event was dropped */
  streamOf(id: string): string | undefined {
    const streamId = this.#parse(id)?.streamId;
    const isOurs =
      streamId === STANDALONE_STREAM || this.#events.some((event) => event.streamId === streamId);
    return isOurs ? streamId : undefined;
  }

  async replayEventsAfter(
    lastId: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const streamId = this.#parse(lastId)?.streamId;
    if (streamId === undefined) throw new Error("unknown event id");
    for (const { id, message } of this.after(lastId)) await send(id, message);
    return streamId;
  }

  /** The stored later events of the same stream, oldest first. */
  after(lastId: string): SentEvent[] {
    const last = this.#parse(lastId);
    return this.#events
      .filter(({ number, streamId }) => last && number > last.number && streamId === last.streamId)
      .map((event) => this.#sent(event));
  }

  #sent({ number, streamId, message }: StoredEvent): SentEvent {
    return { id: this.#id(number, streamId), message };
  }

  #id(number: number, streamId: string): string {
    return `${this.#origin}.${number}.${streamId}`;
  }

  #makeRoom(): void {
    while (this.#events.length > this.#bounds.count || this.#size > this.#bounds.size) {
      const candidates = this.#events.slice(0, -1).filter(({ pinned }) => !pinned);
      // Drop answers to requests first, because a client can repeat a request. A decision is sent only once.
      const first = candidates.find(({ streamId }) => streamId !== STANDALONE_STREAM) ?? candidates[0];
      if (!first) return;
      this.#drop(this.#events.indexOf(first));
    }
  }

  #drop(index: number): void {
    if (index < 0) return;
    for (const event of this.#events.splice(index, 1)) this.#size -= event.size;
  }

  #parse(id: string): { number: number; streamId: string } | undefined {
    const [, origin, number, streamId] = EVENT_ID.exec(id) ?? [];
    // A number that was never assigned would mark every event as seen.
    if (origin !== this.#origin || streamId === undefined || Number(number) > this.#last) return undefined;
    return { number: Number(number), streamId };
  }
}

/** Total length of all strings in a value. Avoids encoding long messages as JSON only to measure them. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce<number>((total, part) => total + sizeOf(part), 0);
}

function isContext(message: JSONRPCMessage): boolean {
  return "method" in message && message.method === "ide/contextUpdate";
}
