import t from "tap";
import { createLog } from "../../src/base/log.ts";
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
