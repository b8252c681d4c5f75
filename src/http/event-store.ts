/** Stores the recent events of a session's event stream. After an interruption, the bridge sends them again. */
import { randomBytes } from "node:crypto";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";

interface StoredEvent {
  number: number;
  message: JSONRPCMessage;
  /** Total length of the strings in the message (UTF-16 units). */
  size: number;
  /** Whether to keep the event even beyond the bounds of the store, because its delivery is not confirmed yet. */
  pinned: boolean;
}

interface Bounds {
  /** Maximum number of stored events. */
  count: number;
  /** Maximum total `size` of the stored events (UTF-16 units). The newest event is stored even if it is longer. */
  size: number;
}

interface SentEvent {
  readonly id: string;
  readonly message: JSONRPCMessage;
}

const BOUNDS: Bounds = { count: 64, size: 64 * 1024 * 1024 };

const EVENT_ID = /^([\w-]+)\.(\d+)$/;

/**
 * A bounded store for one session. Event ids start with a random part, so that ids from an earlier host do not match.
 */
export class BoundedEventStore {
  readonly #origin = randomBytes(6).toString("base64url");
  #events: StoredEvent[] = [];
  #size = 0;
  #last = 0;
  readonly #bounds: Bounds;

  constructor(bounds: Bounds = BOUNDS) {
    this.#bounds = bounds;
  }

  /**
   * Stores an event.
   * @param pinned whether to keep the event until `unpin` is called. Other events may be dropped, and then count as
   * delivered
   * @returns the event's id
   */
  add(message: JSONRPCMessage, pinned = false): string {
    const number = ++this.#last;
    // Keeps only the newest context, because an older context is stale.
    if (isContext(message)) this.#drop(this.#events.findIndex((event) => isContext(event.message)));
    const size = sizeOf(message);
    this.#events.push({ number, message, size, pinned });
    this.#size += size;
    this.#makeRoom();
    return this.#id(number);
  }

  /** Marks an event as delivered. */
  unpin(id: string): void {
    const number = this.#parse(id);
    const event = this.#events.find((one) => one.number === number);
    if (!event) return;
    event.pinned = false;
    this.#makeRoom();
  }

  /** Returns the events that are kept until `unpin`, oldest first. */
  pinned(): SentEvent[] {
    return this.#events.filter(({ pinned }) => pinned).map((event) => this.#sent(event));
  }

  /**
   * Returns the stored events after the event with this id, oldest first.
   * @returns undefined if the id is not from this store
   */
  after(lastId: string): SentEvent[] | undefined {
    const last = this.#parse(lastId);
    if (last === undefined) return undefined;
    return this.#events.filter(({ number }) => number > last).map((event) => this.#sent(event));
  }

  #sent({ number, message }: StoredEvent): SentEvent {
    return { id: this.#id(number), message };
  }

  #id(number: number): string {
    return `${this.#origin}.${number}`;
  }

  #makeRoom(): void {
    while (this.#events.length > this.#bounds.count || this.#size > this.#bounds.size) {
      const first = this.#events.slice(0, -1).findIndex(({ pinned }) => !pinned);
      if (first < 0) return;
      this.#drop(first);
    }
  }

  #drop(index: number): void {
    if (index < 0) return;
    for (const event of this.#events.splice(index, 1)) this.#size -= event.size;
  }

  #parse(id: string): number | undefined {
    const [, origin, number] = EVENT_ID.exec(id) ?? [];
    // Refuses a number that was never assigned: such a number would mark every event as seen.
    return origin === this.#origin && Number(number) <= this.#last ? Number(number) : undefined;
  }
}

/**
 * Returns the total length of all strings in a value (UTF-16 units). Does not encode the value as JSON, which would
 * take long for long messages.
 */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce<number>((total, part) => total + sizeOf(part), 0);
}

function isContext(message: JSONRPCMessage): boolean {
  return "method" in message && message.method === "ide/contextUpdate";
}
