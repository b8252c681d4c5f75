import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import t from "tap";
import { BoundedEventStore, STANDALONE_STREAM } from "../../src/http/event-store.ts";

const decision = (content: string): JSONRPCMessage => ({
  jsonrpc: "2.0",
  method: "ide/diffAccepted",
  params: { filePath: "/a", content },
});

const context = (time: number): JSONRPCMessage => ({
  jsonrpc: "2.0",
  method: "ide/contextUpdate",
  params: { time },
});

const answer = (id: number): JSONRPCMessage => ({ jsonrpc: "2.0", id, result: { text: "x".repeat(100) } });

async function replay(store: BoundedEventStore, lastId: string): Promise<JSONRPCMessage[]> {
  const messages: JSONRPCMessage[] = [];
  await store.replayEventsAfter(lastId, { send: async (_id, message) => void messages.push(message) });
  return messages;
}

t.test("what came after an event on its stream is replayed", async (t) => {
  const store = new BoundedEventStore();
  const first = await store.storeEvent(STANDALONE_STREAM, decision("1"));
  const other = await store.storeEvent("other", answer(1));
  await store.storeEvent(STANDALONE_STREAM, decision("2"));
  await store.storeEvent("other", answer(2));
  t.same(await replay(store, first), [decision("2")]);
  t.same(await replay(store, other), [answer(2)]);
  t.equal(await store.getStreamIdForEventId(other), "other");
});

t.test("ids of another store, or of no store, are unknown", async (t) => {
  const store = new BoundedEventStore();
  const foreign = await new BoundedEventStore().storeEvent(STANDALONE_STREAM, decision("1"));
  for (const id of [foreign, "", "1", "a.1", "a.x.y"]) {
    t.equal(await store.getStreamIdForEventId(id), undefined);
    await t.rejects(replay(store, id));
  }
});

t.test("only the newest context is kept, whatever it pushes out", async (t) => {
  const store = new BoundedEventStore({ count: 3, size: 10_000 });
  const start = await store.storeEvent(STANDALONE_STREAM, decision("1"));
  for (let time = 0; time < 100; time++) await store.storeEvent(STANDALONE_STREAM, context(time));
  await store.storeEvent(STANDALONE_STREAM, decision("2"));
  t.same(await replay(store, start), [context(99), decision("2")]);
});

t.test("answers go before decisions, and the newest event stays whatever its size", async (t) => {
  const store = new BoundedEventStore({ count: 100, size: 1_000 });
  const start = await store.storeEvent(STANDALONE_STREAM, decision("1"));
  for (let id = 0; id < 50; id++) await store.storeEvent("other", answer(id));
  await store.storeEvent(STANDALONE_STREAM, decision("2"));
  t.same(await replay(store, start), [decision("2")]);
  const huge = decision("x".repeat(5_000));
  await store.storeEvent(STANDALONE_STREAM, huge);
  t.same(await replay(store, start), [huge]);
});
