/** Measures the time until a review is visible, for the first and for later reviews. */
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import type { CompanionClient } from "../../test/support/client.ts";
import type { Nvim } from "../../test/support/nvim.ts";
import { takeTurns } from "../stats.ts";
import { ours, startBridge, within } from "../subject.ts";
import { type Goal, type Row, row } from "../table.ts";
import { closeDiff, texts } from "./diffs.ts";

/** Sizes of proposals. */
const SIZES = [
  { name: "1 KB", size: 1_000, runs: 31 },
  { name: "1 MB", size: 1_000_000, runs: 15 },
];
const GOAL: Goal = { most: 20 };
const STARTS = 11;

/** Timeout for a proposal to become visible (ms). */
const TIMEOUT_MS = 10_000;

const WIDTH = 200;
const HEIGHT = 50;

/** Neovim's events that change the content of the screen, see |ui-linegrid|. */
const Line = z.tuple([z.literal(1), z.number(), z.number(), z.array(z.array(z.unknown()))]).rest(z.unknown());
const Scroll = z
  .tuple([z.literal(1), z.number(), z.number(), z.number(), z.number(), z.number()])
  .rest(z.unknown());

/** The content of a screen. It must be collected from events, because Neovim sends only the changed parts. */
class Screen {
  readonly #rows = Array.from({ length: HEIGHT }, () => new Array<string>(WIDTH).fill(" "));

  /** Applies one kind of event. @returns whether Neovim has sent all parts of an update */
  take([event, ...calls]: unknown[]): boolean {
    for (const call of calls) {
      if (event === "grid_line") this.#draw(Line.parse(call));
      else if (event === "grid_scroll") this.#scroll(Scroll.parse(call));
      else if (event === "grid_clear") for (const row of this.#rows) row.fill(" ");
    }
    return event === "flush";
  }

  #draw([, row, start, cells]: z.infer<typeof Line>): void {
    let column = start;
    for (const [text, , repeat] of cells)
      for (let i = 0; i < Number(repeat ?? 1); i += 1) (this.#rows[row] ?? [])[column++] = String(text);
  }

  #scroll([, top, bottom, left, right, rows]: z.infer<typeof Scroll>): void {
    const before = this.#rows.map((row) => [...row]);
    for (let row = top; row < bottom; row += 1) {
      const source = before[row + rows];
      if (source && row + rows >= top && row + rows < bottom)
        this.#rows[row]?.splice(left, right - left, ...source.slice(left, right));
    }
  }

  shows(text: string): boolean {
    return this.#rows.some((row) => row.join("").includes(text));
  }
}

/**
 * Attaches a screen.
 * @returns a function that waits until the screen shows `text`, and returns the time from `since` until then (ms)
 */
async function attachScreen({ nvim }: Nvim): Promise<(text: string, since: number) => Promise<number>> {
  const screen = new Screen();
  let flushed = () => {};
  nvim.on("notification", (method: string, batches: unknown[][]) => {
    if (method === "redraw" && batches.map((batch) => screen.take(batch)).some(Boolean)) flushed();
  });
  await nvim.uiAttach(WIDTH, HEIGHT, { ext_linegrid: true, rgb: true });
  return async (text, since) => {
    const isDrawn = new Promise<void>((resolve) => {
      flushed = () => {
        if (screen.shows(text)) resolve();
      };
    });
    await Promise.race([isDrawn, delay(TIMEOUT_MS, undefined, { ref: false })]);
    return performance.now() - since;
  };
}

/**
 * Returns the time from the request until the first line of the proposal is visible (ms). The line contains `number`,
 * so that the line is different in each proposal.
 */
async function untilDrawn(
  client: CompanionClient,
  path: string,
  after: string,
  screen: (text: string, since: number) => Promise<number>,
  number: number,
): Promise<number> {
  const mark = `PROPOSAL${number}X`;
  const drawn = screen(mark, performance.now());
  await client.openDiff(path, `${mark}\n${after}`);
  const took = await drawn;
  await closeDiff(client, path);
  return took;
}

export async function visibleRows(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { name, size, runs } of SIZES) {
    const { before, after } = texts(size);
    const first: number[] = [];
    const later: number[] = [];
    for (let start = 0; start < (size === 1_000 ? STARTS : 1); start += 1)
      await within(async (scope) => {
        const { nvim, client } = await startBridge(scope, ours, {
          files: { "a.txt": before },
          args: ["a.txt"],
        });
        const screen = await attachScreen(nvim);
        const path = nvim.path("a.txt");
        first.push(await untilDrawn(client, path, after, screen, 1_000));
        const [samples] = await takeTurns(Math.ceil(size === 1_000 ? runs / STARTS : runs), [
          () => untilDrawn(client, path, after, screen, later.length + Math.floor(Math.random() * 1e6)),
        ]);
        later.push(...samples);
      });
    rows.push(row(`a diff is on the screen, ${name}`, "ms", later, size === 1_000 ? { goal: GOAL } : {}));
    if (size === 1_000)
      rows.push(row(`the first diff is on the screen, ${name}`, "ms", first, { goal: GOAL }));
  }
  return rows;
}
