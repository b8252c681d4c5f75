import t, { type Test } from "tap";
import { ask, headers, initialize, startServer } from "../support/server.ts";
import { waitFor } from "../support/wait.ts";

/** Starts a server with tools that wait until the test calls `finish`. */
async function start(t: Test) {
  const running = new Map<string, () => void>();
  const cancelled: string[] = [];
  const { port, sessions } = await startServer(t, {
    register(server) {
      for (const name of ["first", "second"])
        server.registerTool(name, {}, ({ signal }) => {
          signal.addEventListener("abort", () => void cancelled.push(name));
          return new Promise((resolve) => {
            running.set(name, () => resolve({ content: [{ type: "text", text: `${name} finished` }] }));
          });
        });
    },
  });
  const session = await initialize(port);
  const call = (name: string) => ({ jsonrpc: "2.0", id: name, method: "tools/call", params: { name } });
  return {
    sessions,
    cancelled,
    finish: (name: string) => running.get(name)?.(),
    /** Calls tools in one request. `body` resolves when the response has ended. */
    async begin(...names: string[]) {
      for (const name of names) running.delete(name);
      const calls = names.map(call);
      const leaving = new AbortController();
      const answer = fetch(`http://127.0.0.1:${port}/mcp`, {
        method: "POST",
        headers: headers(port, session),
        body: JSON.stringify(calls.length > 1 ? calls : calls[0]),
        signal: leaving.signal,
      });
      const state = { body: undefined as string | undefined, leave: () => leaving.abort() };
      void answer.then(
        async (response) => {
          state.body = await response.text();
        },
        () => {},
      );
      await waitFor(() => names.every((name) => running.has(name)), "the calls to run");
      return state;
    },
    cancel: (requestId: unknown) => {
      const message = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } };
      return ask(port, { body: JSON.stringify(message), headers: { "mcp-session-id": session } });
    },
  };
}

t.test("a cancelled request is aborted, and its response ends without an answer", async (t) => {
  const { begin, cancel, cancelled, finish } = await start(t);
  const first = await begin("first");
  const second = await begin("second");
  for (const unknown of ["third", 7, {}, null]) await cancel(unknown);
  t.same(cancelled, []);
  await cancel("first");
  await waitFor(() => first.body !== undefined, "the response to end");
  t.same(cancelled, ["first"]);
  t.equal(first.body, "");
  t.equal(second.body, undefined, "the other request continues");
  finish("second");
  t.match(await waitFor(() => second.body, "the answer"), "second finished");
  await cancel("second");
  t.same(cancelled, ["first"], "an answered request cannot be cancelled");
});

t.test("a request of a client that has disconnected is aborted, and the session continues", async (t) => {
  const { begin, cancelled, finish, sessions } = await start(t);
  const first = await begin("first");
  first.leave();
  await waitFor(() => cancelled.includes("first"), "the abort");
  const again = await begin("first");
  finish("first");
  t.match(await waitFor(() => again.body, "the answer"), "first finished", "the id can be used again");
  t.equal(sessions.all().length, 1);
});

t.test("a batch is answered although one of its requests is cancelled", async (t) => {
  const { begin, cancel, cancelled, finish } = await start(t);
  const both = await begin("first", "second");
  await cancel("first");
  await waitFor(() => cancelled.includes("first"), "the abort");
  t.equal(both.body, undefined);
  finish("second");
  t.match(await waitFor(() => both.body, "the answers"), "second finished");
});
