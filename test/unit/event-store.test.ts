import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import t from "tap";
import { BoundedEventStore } from "../../src/http/event-store.ts";

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

const replay = (store: BoundedEventStore, lastId: string) =>
  store.after(lastId)?.map(({ message }) => message);

t.test("the events after a given event are replayed", async (t) => {
  const store = new BoundedEventStore();
  const first = store.add(decision("1"));
  const second = store.add(decision("2"));
  t.same(replay(store, first), [decision("2")]);
  t.same(replay(store, second), []);
});

t.test("event ids of another store and invalid event ids are unknown", async (t) => {
  const store = new BoundedEventStore();
  const foreign = new BoundedEventStore().add(decision("1"));
  for (const id of [foreign, "", "1", "a.1", "a.x.y"]) t.equal(replay(store, id), undefined);
});

t.test("only the newest context is stored", async (t) => {
  const store = new BoundedEventStore({ count: 3, size: 10_000 });
  const start = store.add(decision("1"));
  for (let time = 0; time < 100; time++) store.add(context(time));
  store.add(decision("2"));
  t.same(replay(store, start), [context(99), decision("2")]);
});

t.test("the oldest events are dropped first, except pinned events and the newest event", async (t) => {
  const store = new BoundedEventStore({ count: 100, size: 1_000 });
  const start = store.add(decision("1"));
  store.add(decision("2"), true);
  for (let i = 0; i < 50; i++) store.add(decision("x".repeat(100)));
  const huge = decision("x".repeat(5_000));
  store.add(huge);
  t.same(replay(store, start), [decision("2"), huge]);
});
