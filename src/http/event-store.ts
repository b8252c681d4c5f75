/** What a session was sent lately, to be sent again to a stream that broke. */
import type { EventStore } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";

interface StoredEvent {
  id: string;
  streamId: string;
  message: JSONRPCMessage;
}

/** Remembers this many events of a session. */
const CAPACITY = 64;

/**
 * A bounded store for one session. The SDK's example cannot resume the standalone stream, whose
 * name holds the separator it splits at; here an id says nothing and a list is searched.
 */
export class RingEventStore implements EventStore {
  #events: StoredEvent[] = [];
  #last = 0;

  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    const id = String(++this.#last);
    this.#events.push({ id, streamId, message });
    if (this.#events.length > CAPACITY) this.#events.shift();
    return id;
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events.find((event) => event.id === id)?.streamId;
  }

  async replayEventsAfter(
    lastId: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const index = this.#events.findIndex((event) => event.id === lastId);
    const last = this.#events[index];
    if (!last) throw new Error("unknown event id");
    for (const event of this.#events.slice(index + 1)) {
      if (event.streamId === last.streamId) await send(event.id, event.message);
    }
    return last.streamId;
  }
}
