/** Measures how costs grow with the number of clients, buffers, lines, reviews and files. */
import type { Nvim } from "../../test/support/nvim.ts";
import type { Scope } from "../../test/support/scope.ts";
import { longestBlock } from "../block.ts";
import { type Summary, summarize, time } from "../stats.ts";
import { agentOf, type Running, type Subject, startBridge, within } from "../subject.ts";
import { type Row, row } from "../table.ts";
import { BUFFERS, MOVE } from "./events.ts";
import { withoutPause } from "./latency.ts";

const RUNS = 9;

const FILES = { "a.txt": "one\ntwo\nthree\n" };
const OPEN = { files: FILES, args: ["a.txt"] };

const SELECTION = `
vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.fn['repeat']({ 'a line of ordinary length, as they are' }, ...))
vim.cmd('normal! GVgg')
`;

interface Growth {
  /** `name` is the measured action. `of` names the items whose number may affect its cost. */
  name: string;
  of: string;
  counts: readonly number[];
  /** Prepares the measured action for a given number of items. */
  prepare: Prepare;
}
type Prepare = (scope: Scope, subject: Subject, count: number) => Promise<Prepared>;
type Run = (round: number) => Promise<unknown>;
interface Prepared {
  nvim: Nvim;
  run: Run;
  /** Waits until the editor shows the result of `run`. */
  shown?: Run;
}

/** Prepares a movement of the cursor. The measured time ends when the last client has received the movement. */
async function prepareMove(subject: Subject, { nvim, clients }: Running): Promise<Prepared> {
  await withoutPause(nvim, subject);
  const run: Run = async (round) => {
    for (const client of clients) client.received["ide/contextUpdate"].length = 0;
    const told = clients.map((client) => client.waitForNotification("ide/contextUpdate", undefined, 30_000));
    await nvim.lua(MOVE, (round % 2) + 1);
    await Promise.all(told);
  };
  return { nvim, run };
}

/**
 * Prepares a movement of the cursor in a Neovim with many items, such as buffers.
 * @param code Lua that creates the items; its argument is their number
 */
function prepareMoveAmong(code: string): Prepare {
  return async (scope, subject, count) => {
    const running = await startBridge(scope, subject, OPEN);
    await running.nvim.lua(code, count);
    return prepareMove(subject, running);
  };
}

const growths: readonly Growth[] = [
  {
    name: "a context",
    of: "clients",
    counts: [1, 10, 100, 1_000],
    async prepare(scope, subject, clients) {
      const init = "\nrequire('gemini-bridge.host.boot').limits.clients = 2000";
      return prepareMove(subject, await startBridge(scope, subject, { ...OPEN, init, clients }));
    },
  },
  {
    name: "a context",
    of: "open buffers",
    counts: [10, 100, 1_000, 10_000],
    prepare: prepareMoveAmong(BUFFERS),
  },
  {
    name: "a context",
    of: "selected lines",
    counts: [1_000, 10_000, 100_000, 1_000_000],
    prepare: prepareMoveAmong(SELECTION),
  },
  {
    name: "openDiff and closeDiff",
    of: "pending reviews",
    counts: [1, 10, 100],
    async prepare(scope, subject, count) {
      const { nvim, client } = await startBridge(scope, subject, OPEN);
      for (let i = 0; i < count; i += 1) await client.openDiff(nvim.path(`${i}.txt`), "one\n");
      return {
        nvim,
        async run() {
          await client.openDiff(nvim.path("a.txt"), "one\n2\nthree\n");
          await client.closeDiff(nvim.path("a.txt"), true);
        },
      };
    },
  },
  {
    name: "an edit seen before and after",
    of: "changed files",
    counts: [1, 10, 100, 1_000],
    async prepare(scope, subject, count) {
      const { nvim } = await startBridge(scope, subject, OPEN);
      const agent = agentOf(nvim);
      for (let i = 0; i < count; i += 1) await agent.write(`${i}.txt`, "one\n");
      return {
        nvim,
        run: (round) => agent.write("a.txt", `${round}\n`),
        shown: (round) => nvim.waitFor(`vim.fn.getline(1) == '${round}'`, "the new text"),
      };
    },
  },
];

/**
 * Returns the exponent of the growth: 1 for linear cost, 0 for constant cost. Fits a line to the logarithms by least
 * squares.
 */
function power(counts: readonly number[], costs: readonly number[]): number {
  const points = counts.map((count, i) => [Math.log(count), Math.log(costs[i] ?? Number.NaN)] as const);
  const mean = (axis: 0 | 1) => points.reduce((sum, point) => sum + point[axis], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const above = points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0);
  return above / points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
}

function fit(counts: readonly number[], samples: readonly (readonly number[])[]): Summary {
  return summarize(
    Array.from({ length: RUNS }, (_, run) =>
      power(
        counts,
        samples.map((of) => of[run] ?? Number.NaN),
      ),
    ),
  );
}

async function rowsOf(subject: Subject, { name, of, counts, prepare }: Growth): Promise<Row[]> {
  const took: number[][] = [];
  const blocked: number[][] = [];
  for (const count of counts)
    await within(async (scope) => {
      const { nvim, run, shown } = await prepare(scope, subject, count);
      const whole = (round: number) => run(round).then(() => shown?.(round));
      await whole(1); // warms up
      const [times, blocks]: [number[], number[]] = [[], []];
      for (let round = 1; round <= RUNS; round += 1) {
        times.push(await time(() => run(2 * round)));
        // Uses at least 0.05 ms. The system's clock may be so coarse that it measures 0, and 0 has no logarithm.
        blocks.push(Math.max(await longestBlock(nvim, () => whole(2 * round + 1)), 0.05));
      }
      took.push(times);
      blocked.push(blocks);
    });
  const among = `${counts[0]?.toLocaleString("en")} to ${counts.at(-1)?.toLocaleString("en")} ${of}`;
  return [
    row(`growth of ${name}, ${among}`, "", fit(counts, took), { goal: { most: 1 } }),
    row(`growth of its block of the editor, ${among}`, "", fit(counts, blocked), { goal: { most: 0.2 } }),
  ];
}

export async function scalingRows(subject: Subject): Promise<Row[]> {
  const rows: Row[] = [];
  for (const growth of growths) rows.push(...(await rowsOf(subject, growth)));
  return rows;
}
