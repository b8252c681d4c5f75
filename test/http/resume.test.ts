import { isDeepStrictEqual } from "node:util";
import t, { type Test } from "tap";
import type { IdeContext } from "../../src/contract/companion.ts";
import { encode } from "../../src/http/notification.ts";
import type { Session } from "../../src/http/sessions.ts";
import { openStream } from "../support/event-stream.ts";
import { heldMemory } from "../support/memory.ts";
import { initialize, type ServerOptions, startServer } from "../support/server.ts";
import { waitFor } from "../support/wait.ts";

/** Starts a server, and one session. */
async function start(t: Test, options: ServerOptions = {}) {
  const server = await startServer(t, options);
  const id = await initialize(server.port);
  const session = server.sessions.get(id);
  if (!session) throw new Error("no session");
  return { ...server, id, session, open: (extra = {}) => openStream(server.port, id, extra) };
}

const accept = (session: Session, content: string) =>
  session.deliver(encode("ide/diffAccepted", { filePath: "/a", content }));

const context = (path: string) => ({ workspaceState: { openFiles: [{ path, timestamp: 1 }] } });

const sendContext = (session: Session, context: IdeContext) =>
  session.sendContext({
    context,
    selected: undefined,
    notification: encode("ide/contextUpdate", context),
  });

t.test("a decision waits for the first event stream of the session", async (t) => {
  const { session, open } = await start(t);
  const delivered = accept(session, "held");
  const stream = await open();
  t.same(await stream.next("ide/diffAccepted"), { filePath: "/a", content: "held" });
  t.equal(await delivered, true);
});

t.test("a decision during an interrupted stream arrives once, on the next stream", async (t) => {
  for (const resume of [true, false]) {
    const { session, open, id, calls } = await start(t);
    const first = await open();
    await accept(session, "seen");
    await first.next("ide/diffAccepted");
    const lastId = first.events.at(-1)?.id ?? "";
    first.break();
    await waitFor(() => calls.includes(`disconnected ${id}`), "the break to be seen");
    const delivered = [
      accept(session, "one"),
      session.deliver(encode("ide/diffRejected", { filePath: "/b" })),
    ];
    const second = await open(resume ? { "last-event-id": lastId } : {});
    await second.next("ide/diffRejected");
    t.same(await Promise.all(delivered), [true, true]);
    t.same(
      second.events.map(({ message }) => message.params),
      [{ filePath: "/a", content: "one" }, { filePath: "/b" }],
    );
  }
});

t.test("a decision that was written to a broken stream is sent again", async (t) => {
  const { session, open } = await start(t);
  const first = await open();
  sendContext(session, context("/a"));
  await first.next("ide/contextUpdate");
  const lastId = first.events.at(-1)?.id ?? "";
  first.break(); // the server has not noticed this yet
  void accept(session, "crossing");
  for (let i = 0; i < 100; i++) sendContext(session, context(`/${i}`));
  const second = await open({ "last-event-id": lastId });
  await second.next("ide/diffAccepted");
  await second.next("ide/contextUpdate");
  t.equal(second.events.length, 2, "of the contexts only the newest");
});

t.test("of the contexts only the newest is sent again", async (t) => {
  const { session, open } = await start(t);
  const first = await open();
  await accept(session, "1");
  for (const path of ["/a", "/b", "/c"]) {
    sendContext(session, context(path));
    await first.next("ide/contextUpdate", (params) => isDeepStrictEqual(params, context(path)));
  }
  await accept(session, "2");
  const second = await open({ "last-event-id": first.events[0]?.id ?? "" });
  await second.next("ide/diffAccepted");
  t.same(
    second.events.map(({ message }) => message.params),
    [context("/c"), { filePath: "/a", content: "2" }],
  );
});

t.test("unsent decisions never count as delivered, whatever their number", async (t) => {
  const { session, open } = await start(t);
  const first = await open();
  await accept(session, "seen");
  await first.next("ide/diffAccepted");
  const lastId = first.lastId() ?? "";
  first.response.pause();
  const contents = ["x".repeat(12e6), ...Array.from({ length: 100 }, (_, i) => String(i))];
  const delivered = contents.map((content) => accept(session, content)); // the first decision fills the buffers of the connection
  first.break();
  const second = await open({ "last-event-id": lastId });
  await second.next("ide/diffAccepted", ({ content }) => content === "99");
  const arrived = second.events.map(({ message }) => message.params?.["content"]);
  t.ok(arrived.length === contents.length && arrived.every((content, i) => content === contents[i]));
  t.ok((await Promise.all(delivered)).every((one) => one));
});

t.test("an event id that was never assigned marks no event as delivered", async (t) => {
  const { session, open, calls, id } = await start(t);
  const first = await open();
  await accept(session, "seen");
  await first.next("ide/diffAccepted");
  const [origin] = (first.lastId() ?? "").split(".");
  first.break();
  await waitFor(() => calls.includes(`disconnected ${id}`), "the break to be seen");
  const delivered = accept(session, "missed");
  const second = await open({ "last-event-id": `${origin}.999` });
  t.same(await second.next("ide/diffAccepted"), { filePath: "/a", content: "missed" });
  t.ok(await delivered);
});

t.test("an event stream is resumed, even if its last event is no longer stored", async (t) => {
  const { session, open } = await start(t);
  const first = await open();
  await accept(session, "first");
  await first.next("ide/diffAccepted");
  const lastId = first.events.at(-1)?.id ?? "";
  for (let i = 0; i < 200; i++) await accept(session, String(i));
  first.break();
  const second = await open({ "last-event-id": lastId });
  await second.next("ide/diffAccepted", ({ content }) => content === "199");
  t.equal(second.events.length, 64);
});

t.test("the oldest events are dropped first, except unsent decisions and the newest event", async (t) => {
  const { session, open, calls, id } = await start(t);
  const breaks = () => calls.filter((call) => call === `disconnected ${id}`).length;
  /** Reads the decisions up to the one with this content, then breaks the stream. */
  async function read(until: string, lastId?: string) {
    const before = breaks();
    const stream = await open(lastId === undefined ? {} : { "last-event-id": lastId });
    await stream.next("ide/diffAccepted", ({ content }) => content === until, 20_000);
    stream.break();
    await waitFor(() => breaks() > before, "the break to be seen");
    return {
      ids: stream.events.map((event) => event.id),
      contents: stream.events.map(({ message }) => message.params?.["content"]),
    };
  }
  const sent = [accept(session, "first"), accept(session, "second")];
  const { ids } = await read("second");
  const huge = "x".repeat(68e6); // more than the limit for all stored events
  const unsent = [accept(session, "unsent"), accept(session, huge)];
  const before = await read(huge, ids[0]);
  t.ok(isDeepStrictEqual(before.contents, ["unsent", huge]), "unsent decisions are kept");
  t.same(await Promise.all([...sent, ...unsent]), [true, true, true, true]);
  const again = await read(huge, ids[0]);
  t.ok(isDeepStrictEqual(again.contents, [huge]), "the newest event is kept");
  void accept(session, "last");
  t.same((await read("last", again.ids[0])).contents, ["last"], "earlier events are not repeated");
});

t.test("an event id of another host opens a new stream", async (t) => {
  for (const lastId of ["", "1", "x", "a.1", "a.x.y", "aaaaaaaa.1", "..", "a.b.c".repeat(1000)]) {
    const { session, open } = await start(t);
    const delivered = accept(session, "held");
    const stream = await open({ "last-event-id": lastId });
    await stream.next("ide/diffAccepted");
    t.ok(await delivered);
  }
});

t.test("a new stream replaces the previous stream, but a refused request does not", async (t) => {
  const { session, open, sessions } = await start(t);
  const first = await open();
  await t.rejects(open({ accept: "application/json" }), { message: "status 406" });
  await t.rejects(open({ "mcp-protocol-version": "0" }), { message: "status 400" });
  t.notOk(first.ended());
  const second = await open();
  await waitFor(first.ended, "the first stream to end");
  t.ok(first.response.complete, "gracefully");
  await accept(session, "to the second");
  await second.next("ide/diffAccepted");
  t.same(first.events, []);
  t.equal(sessions.connected().length, 1);
});

t.test("a decision is reported as lost if its session ends before it is sent", async (t) => {
  const { session, open, calls, id } = await start(t, { grace: 200 });
  const stream = await open();
  stream.break();
  await waitFor(() => calls.includes(`disconnected ${id}`), "the break to be seen");
  t.equal(await accept(session, "lost"), false);
  t.ok(calls.includes(`ended ${id}`));
  t.equal(await accept(session, "later"), false);
});

t.test("a decision is reported as lost if the server closes before it is sent", async (t) => {
  const { session, close } = await start(t);
  const delivered = accept(session, "lost");
  await close();
  t.equal(await delivered, false);
});

// Sends 80 MB of contexts, in messages that are larger or smaller than the buffer of a response.
for (const [size, rounds] of [
  [16_384, 5_000],
  [1_000, 80_000],
] as const) {
  t.test(
    `a client that does not read costs no memory, and later gets the newest context and all decisions, with ${size} per message`,
    async (t) => {
      const { session, open } = await start(t);
      const stream = await open();
      stream.response.pause();
      const selectedText = "x".repeat(size);
      const update = (time: number) => ({
        workspaceState: { openFiles: [{ path: "/a", timestamp: time, isActive: true, selectedText }] },
      });
      const before = heldMemory();
      for (let time = 1; time <= rounds; time++) {
        sendContext(session, update(time));
        if (time % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      const delivered = accept(session, "read at last");
      const held = heldMemory() - before;
      t.ok(held < 20e6, `${held} bytes are held`);
      stream.response.resume();
      await stream.next("ide/diffAccepted");
      t.ok(await delivered);
      const newest = await stream.next("ide/contextUpdate", (params) =>
        JSON.stringify(params).includes(`"timestamp":${rounds}`),
      );
      t.ok(newest);
      t.ok(stream.events.length < rounds / 2);
    },
  );
}

t.test("a later host continues the sessions of the previous host", async (t) => {
  const before = await start(t);
  const known = before.sessions.all();
  const stream = await before.open();
  await accept(before.session, "before");
  await stream.next("ide/diffAccepted");
  const lastId = stream.events.at(-1)?.id ?? "";
  await before.close();

  const after = await startServer(t, { grace: 300 });
  await after.sessions.restore(known);
  t.same(after.sessions.all(), known);
  const session = after.sessions.get(before.id);
  if (!session) throw new Error("the session is unknown");
  const delivered = accept(session, "after");
  const resumed = await openStream(after.port, before.id, { "last-event-id": lastId });
  t.same(await resumed.next("ide/diffAccepted"), { filePath: "/a", content: "after" });
  t.ok(await delivered);
  resumed.break();
  await waitFor(() => after.sessions.all().length === 0, "one that does not come back to be freed");
});
