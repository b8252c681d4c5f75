import t from "tap";
import { createLog } from "../../src/base/log.ts";
import { Refusal } from "../../src/base/refusal.ts";
import type { EventPayload } from "../../src/contract/neovim.ts";
import { createBridge } from "../../src/neovim/bridge.ts";
import { waitFor } from "../support/wait.ts";

/** Creates a bridge without a Neovim. Tests must make no calls with it. */
function bridgeToNobody() {
  const nobody = () => {
    throw new Error("Neovim was called");
  };
  return createBridge({ on: nobody, request: nobody, notify: nobody, executeLua: nobody }, createLog());
}

t.test("events are handled in order, after the events of an earlier host", async (t) => {
  const bridge = bridgeToNobody();
  const seen: string[] = [];
  const accepted = (event: EventPayload<"diff_accepted">) =>
    void seen.push(`${event.id} ${"content" in event ? event.content : ""}`);
  bridge.handle({ stop: () => void seen.push("stop") });
  bridge.dispatch("diff_accepted", { id: 2, content: "b" });
  bridge.dispatch("diff_rejected", { id: 3 });
  bridge.dispatch("stop", { keepsReviews: false });
  t.same(seen, [], "nothing can be read before the contract is loaded");
  await waitFor(() => seen.length > 0, "the contract");
  t.same(seen, ["stop"], "a stop waits for nothing else");
  bridge.handle({ diff_accepted: accepted, diff_rejected: ({ id }) => void seen.push(`${id}`) }, [
    ["diff_accepted", { id: 1, content: "a" }],
  ]);
  t.same(seen, ["stop", "1 a", "2 b", "3"]);
  bridge.dispatch("diff_rejected", { id: 4 });
  t.same(seen.at(-1), "4", "and then they do not wait");
});

t.test("an invalid event or a failing handler does not affect other events", async (t) => {
  const bridge = bridgeToNobody();
  const seen: number[] = [];
  bridge.handle({
    diff_rejected({ id }) {
      seen.push(id);
      if (id === 1) throw new Error("a flaw");
    },
  });
  for (const [name, payload] of [
    ["none", {}],
    ["toString", {}],
    [7, {}],
    ["diff_rejected", { id: "x" }],
    ["diff_rejected", { id: 1 }],
    ["diff_rejected", { id: 2 }],
  ])
    bridge.dispatch(name, payload);
  await waitFor(() => seen.includes(2), "the last");
  t.same(seen, [1, 2]);
});

t.test("a request is answered once, with a result or with the reason for none", async (t) => {
  const logged: string[] = [];
  const answers: unknown[] = [];
  const log = { ...createLog(), error: (...text: unknown[]) => void logged.push(text.map(String).join(" ")) };
  const nobody = () => {
    throw new Error("Neovim was called");
  };
  const notify = (_: string, [, [name, answer]]: [string, unknown[]]) => void answers.push([name, answer]);
  const bridge = createBridge({ on: nobody, request: nobody, executeLua: nobody, notify } as never, log);
  const request = (id: number, name: string, params: unknown) =>
    bridge.dispatch("request", { id, name, params });
  request(1, "history_texts", { id: "a" });
  request(2, "stop", { keepsReviews: false });
  await waitFor(() => answers.length > 0, "the contract");
  const failed = "the bridge failed; see :GeminiLog";
  t.same(answers.splice(0), [["answered", { id: 2, error: failed }]], "an event is no request");
  bridge.handle({
    stop: () => void t.fail("a request has run an event"),
    async history_texts({ id }) {
      if (id === "gone") throw new Refusal("the text is gone");
      if (id === "flaw") throw new Error("a flaw");
      return { before: [id], after: [] };
    },
  });
  await waitFor(() => answers.length === 1, "the answer to the request that came before its handler");
  request(3, "history_texts", { id: "gone" });
  request(4, "history_texts", { id: "flaw" });
  request(5, "history_texts", { id: 5 });
  await waitFor(() => answers.length === 4, "the answers");
  t.same(answers, [
    ["answered", { id: 1, result: { before: ["a"], after: [] } }],
    ["answered", { id: 5, error: failed }],
    ["answered", { id: 3, error: "the text is gone" }],
    ["answered", { id: 4, error: failed }],
  ]);
  t.equal(logged.length, 3, "a refusal is no error");
});
