import t from "tap";
import { createOpenBuffers } from "../../src/context/context.ts";
import type { Snapshot } from "../../src/contract/neovim.ts";

t.test(
  "of many buffers that had the focus the last ones are remembered, whatever order they come in",
  async (t) => {
    const snapshot = (change: Partial<Snapshot>): Snapshot => ({
      reset: false,
      more: false,
      buffers: [],
      focus: [],
      ...change,
    });
    const buffers = createOpenBuffers();
    const count = 20_000;
    const numbers = Array.from({ length: count }, (_, i) => i + 1);
    // Focus times of terminals and pickers, which are never listed and whose deletion is not reported. Newest first.
    buffers.add(
      snapshot({ focus: numbers.slice(0, count / 2).map((bufnr) => ({ bufnr, time: 1e6 - bufnr })) }),
    );
    for (const bufnr of numbers.slice(count / 2)) buffers.add(snapshot({ focus: [{ bufnr, time: bufnr }] }));
    buffers.add(snapshot({ buffers: numbers.map((bufnr) => ({ bufnr, path: `/${bufnr}` })) }));
    const focused = buffers.all().filter((buffer) => buffer.focused !== undefined);
    t.ok(focused.length <= 2_000, `${focused.length}`);
    t.same(
      focused.slice(0, 500).map(({ bufnr }) => bufnr),
      numbers.slice(0, 500),
    );
  },
);
