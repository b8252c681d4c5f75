/** Measures the memory of the host, and the processor time of an idle bridge. */
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import type { Nvim } from "../../test/support/nvim.ts";
import { START_FLOOR } from "../floor/floor.ts";
import { processorTime, residentMemory, sumBelow } from "../process.ts";
import { summarize, takeTurns } from "../stats.ts";
import { plain, type Running, type Subject, startBridge, startSubject, within } from "../subject.ts";
import { type Row, row } from "../table.ts";
import { closeDiff } from "./diffs.ts";

const RUNS = 10;
const DIFFS = 1000;
/** Pause before memory is measured (ms). */
const SETTLE_MS = 1_000;
/** Pause until the host has settled. */
const REST_MS = 5_000;
/**
 * Times for measuring an idle host (ms): `settle` is the pause before the measurement, and `measure` is its duration.
 * The pause is long, because V8 collects garbage a second time about eight seconds after a collection.
 */
const IDLE = { settle: 20_000, measure: 60_000 };

const TEXT = "a line of ordinary length, as they are\n".repeat(100);
const OPEN = { files: { "a.txt": TEXT }, args: ["a.txt"] };

const Floor = z.object({ pid: z.number() });

/** Opens and closes `count` reviews. */
async function review({ nvim, client }: Running, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    await client.openDiff(nvim.path("a.txt"), `${TEXT}change ${i}\n`);
    await closeDiff(client, nvim.path("a.txt"));
  }
}

async function memoryRows(subject: Subject, floor: string): Promise<Row[]> {
  const memory = async (nvim: Nvim, after = SETTLE_MS) => {
    await delay(after);
    return sumBelow(nvim.pid, residentMemory);
  };
  const [figures, floors] = await takeTurns(RUNS, [
    () =>
      within(async (scope) => {
        const running = await startBridge(scope, subject, OPEN);
        const idle = await memory(running.nvim, REST_MS);
        await review(running, DIFFS / 2);
        const half = await memory(running.nvim);
        await review(running, DIFFS / 2);
        return { idle, half, whole: await memory(running.nvim) };
      }),
    () =>
      within(async (scope) => {
        const nvim = await startSubject(scope, plain);
        const { pid } = Floor.parse(await nvim.lua(START_FLOOR, floor, "idle"));
        await delay(SETTLE_MS);
        return residentMemory(pid);
      }),
  ]);
  const least = summarize(floors);
  return [
    row(
      "resident memory of the host, idle, 1 client",
      "MB",
      figures.map(({ idle }) => idle),
      { floor: least, goal: { ratio: 1.15 } },
    ),
    row(
      "resident memory of the host after 1,000 diffs",
      "MB",
      figures.map(({ whole }) => whole),
      { floor: least, goal: { ratio: 1.4 } },
    ),
    row(
      "the same against after 500 diffs",
      "MB",
      figures.map(({ whole }) => whole),
      { floor: figures.map(({ half }) => half), goal: { ratio: 1.05 } },
    ),
  ];
}

/**
 * Returns the memory of Neovim and of all processes that it has started. Includes Neovim, because other plugins run
 * their servers in Neovim itself.
 */
const footprint = async ({ pid }: Nvim) => {
  await delay(SETTLE_MS);
  return residentMemory(pid) + sumBelow(pid, residentMemory);
};

export async function footprintRows(subject: Subject): Promise<Row[]> {
  const [figures] = await takeTurns(RUNS, [
    () => within(async (scope) => footprint((await startBridge(scope, subject, OPEN)).nvim)),
  ]);
  const name = "resident memory of Neovim and its processes, 1 client";
  return [row(name, "MB", figures)];
}

export async function growthRows(subject: Subject): Promise<Row[]> {
  const [figures] = await takeTurns(3, [
    () =>
      within(async (scope) => {
        const running = await startBridge(scope, subject, OPEN);
        const before = await footprint(running.nvim);
        await review(running, DIFFS / 2);
        return (await footprint(running.nvim)) - before;
      }),
  ]);
  return [row(`what ${DIFFS / 2} diffs add to it`, "MB", figures)];
}

/** Measures the processor time of idle hosts, all at the same time. */
async function idleRows(subject: Subject, floor: string): Promise<Row[]> {
  return within(async (scope) => {
    const figures: Nvim[] = [];
    const floors: Nvim[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      figures.push((await startBridge(scope, subject, OPEN)).nvim);
      const bare = await startSubject(scope, plain, OPEN);
      await bare.lua(START_FLOOR, floor, "idle");
      floors.push(bare);
    }
    const measure = () =>
      [figures, floors].flatMap((all) => [
        ...all.map(({ pid }) => processorTime(pid)),
        ...all.map(({ pid }) => sumBelow(pid, processorTime)),
      ]);
    await delay(IDLE.settle);
    const before = measure();
    await delay(IDLE.measure);
    const used = measure().map((time, i) => time - (before[i] ?? 0));
    const part = (index: number) => summarize(used.slice(index * RUNS, (index + 1) * RUNS));
    return [
      row("processor time of the editor in 60 idle seconds, 1 client", "ms", part(0), {
        floor: part(2),
        goal: { more: 5 },
      }),
      row("processor time of the host in 60 idle seconds, 1 client", "ms", part(1), {
        floor: part(3),
        goal: { more: 5 },
      }),
    ];
  });
}

/** Measures memory and idle processor time in parallel, because neither depends on other load on the machine. */
export async function resourceRows(subject: Subject, floor: string): Promise<Row[]> {
  return (await Promise.all([memoryRows(subject, floor), idleRows(subject, floor)])).flat();
}
