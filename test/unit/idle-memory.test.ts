import t from "tap";
import { createIdleMemory } from "../../src/system/idle-memory.ts";
import { waitFor } from "../support/wait.ts";

/** Creates an object, and returns only a weak reference to the object. */
const garbage = () => new WeakRef({ bytes: new Uint8Array(1_000) });

for (const [isUsed, after] of [
  [true, { used: 1, unused: 3_600_000 }],
  [false, { used: 3_600_000, unused: 1 }],
] as const)
  t.test(`garbage is collected ${isUsed ? "with a client" : "without a client"}`, async (t) => {
    const rest = createIdleMemory(after);
    t.teardown(rest.close);
    const made = garbage();
    rest.changed(!isUsed);
    rest.changed(isUsed);
    await waitFor(() => made.deref() === undefined, "the garbage to go");
    let isAlive = false;
    setImmediate(() => setImmediate(() => setImmediate(() => (isAlive = true))));
    await waitFor(() => isAlive, "the process to go on");
    rest.changed(!isUsed);
    rest.close();
    rest.close();
  });
