/** Measures the memory of the host. */
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import { START_FLOOR } from "../floor/floor.ts";
import { residentMemory, sumBelow } from "../process.ts";
import { takeTurns } from "../stats.ts";
import { ours, plain, type Running, startBridge, startSubject, within } from "../subject.ts";
import { type Row, row } from "../table.ts";
import { closeDiff } from "./diffs.ts";

const RUNS = 3;
const DIFFS = 1000;
/** Pause before memory is measured (ms). */
const SETTLE_MS = 3_000;
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

export async function memoryRows(floor: string): Promise<Row[]> {
  const [figures, floors] = await takeTurns(RUNS, [
    () =>
      within(async (scope) => {
        const running = await startBridge(scope, ours, OPEN);
        await delay(SETTLE_MS);
        const idle = sumBelow(running.nvim.pid, residentMemory);
        await review(running, DIFFS);
        await delay(SETTLE_MS);
        return { idle, later: sumBelow(running.nvim.pid, residentMemory) };
      }),
    () =>
      within(async (scope) => {
        const nvim = await startSubject(scope, plain);
        const { pid } = Floor.parse(await nvim.lua(START_FLOOR, floor));
        await delay(SETTLE_MS);
        return residentMemory(pid);
      }),
  ]);
  const least = { floor: floors, goal: { most: 120 } };
  return [
    row(
      "resident memory of the host, idle, 1 client",
      "MB",
      figures.map(({ idle }) => idle),
      least,
    ),
    row(
      "resident memory of the host after 1,000 diffs",
      "MB",
      figures.map(({ later }) => later),
      least,
    ),
  ];
}
