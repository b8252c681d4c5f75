/** What a session was sent lately, to be sent again to a stream that broke. */
import { randomBytes } from "node:crypto";
import type { EventStore } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";

/** The SDK's name for the stream that a GET without a request opens. */
export const STANDALONE_STREAM = "_GET_stream";

interface StoredEvent {
  number: number;
  streamId: string;
  message: JSONRPCMessage;
  /** UTF-16 units of its texts. */
  size: number;
  /** Nobody knows yet whether its client has it: it stays, over all bounds. */
  pinned: boolean;
}

export interface Bounds {
  /** Events. */
  count: number;
  /** UTF-16 units of the texts of all events together. The newest event is kept whatever its size. */
  size: number;
}

export interface SentEvent {
  readonly id: string;
  readonly message: JSONRPCMessage;
}

const BOUNDS: Bounds = { count: 64, size: 64 * 1024 * 1024 };

const EVENT_ID = /^([\w-]+)\.(\d+)\.(.+)$/;

/**
 * A bounded store for one session. The SDK's example cannot resume the standalone stream, whose name holds the
 * separator it splits at, and forgets where a stream was once the event itself is gone: here the id says it all,
 * and its first part keeps the ids of a host before this one from being taken for our own.
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
   * @param pinned the event stays until `unpin`: one that had to go could not be told from one that its client has.
   * @returns the event's id
   */
  add(streamId: string, message: JSONRPCMessage, pinned = false): string {
    const number = ++this.#last;
    // Only the newest context counts; an older one in its place would be stale when it is replayed.
    if (isContext(message)) this.#drop(this.#events.findIndex((event) => isContext(event.message)));
    const size = sizeOf(message);
    this.#events.push({ number, streamId, message, size, pinned });
    this.#size += size;
    this.#makeRoom();
    return this.#id(number, streamId);
  }

  /** The event's client has it. */
  unpin(id: string): void {
    const number = this.#parse(id)?.number;
    const event = this.#events.find((one) => one.number === number);
    if (!event) return;
    event.pinned = false;
    this.#makeRoom();
  }

  /** What is pinned, the oldest first. */
  pinned(): SentEvent[] {
    return this.#events.filter(({ pinned }) => pinned).map((event) => this.#sent(event));
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.streamOf(id);
  }

  /** @returns the stream of an event of ours, also of one that is gone by now when it was the standalone one's */
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

  /** What is kept of the same stream and came after an event, the oldest first. */
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
      // What answers a request goes first: its client has it, or asks again. A decision is asked for once.
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
    // A number that was never given would count every event as seen.
    if (origin !== this.#origin || streamId === undefined || Number(number) > this.#last) return undefined;
    return { number: Number(number), streamId };
  }
}

/** What makes a message large is its texts; its JSON would tell no more, and is slow to make of a long one. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce<number>((total, part) => total + sizeOf(part), 0);
}

function isContext(message: JSONRPCMessage): boolean {
  return "method" in message && message.method === "ide/contextUpdate";
}
