/** Measures the time from an event in the editor until the clients receive it. */
import * as z from "zod";
import { SUBSCRIPTION } from "../../src/context/snapshot-subscription.ts";
import type { CompanionClient } from "../../test/support/client.ts";
import type { Nvim } from "../../test/support/nvim.ts";
import { connectFloor } from "../floor/floor.ts";
import { atP99, summarize, takeTurns } from "../stats.ts";
import { ours, plain, type Subject, startBridge, startSubject, within } from "../subject.ts";
import { type Row, row } from "../table.ts";

const RUNS = 300;

/** Disables the debounce, because the measured time should not include the debounce. */
const NO_PAUSE = { ...SUBSCRIPTION, debounce: 0, maxWait: 0 };

/**
 * Lua that moves the cursor, and returns the time of the event. Node can compare this time with its own, because
 * `hrtime` uses the same clock in Node and Neovim.
 */
const MOVE = `
vim.api.nvim_win_set_cursor(0, { ..., 0 })
local now = vim.uv.hrtime()
vim.api.nvim_exec_autocmds('CursorMoved', {})
return tostring(now)
`;

const SEND = `
local now = vim.uv.hrtime()
vim.rpcnotify(floor_job, 'send', 'ide/contextUpdate', ...)
return tostring(now)
`;

/** Returns the time from an event in the editor until all clients have its notification (ms). */
async function delay(clients: readonly CompanionClient[], trigger: () => Promise<unknown>): Promise<number> {
  for (const client of clients) client.received["ide/contextUpdate"].length = 0;
  const arrived = Promise.all(
    clients.map(async (client) => {
      await client.waitForNotification("ide/contextUpdate");
      return process.hrtime.bigint();
    }),
  );
  const at = BigInt(z.string().parse(await trigger()));
  const latest = (await arrived).reduce((a, b) => (a > b ? a : b));
  return Number(latest - at) / 1e6;
}

const LINES = Array.from({ length: 100 }, (_, i) => `line ${i}\n`).join("");
const OPEN = { files: { "a.txt": LINES }, args: ["a.txt"] };

function move(nvim: Nvim): () => Promise<unknown> {
  let line = 1; // the cursor starts on the first line
  return () => nvim.lua(MOVE, (line++ % 100) + 1);
}

/** Makes the plugin send every event immediately, without a debounce. */
export async function withoutPause(nvim: Nvim, subject: Subject): Promise<void> {
  if (subject !== ours) return;
  await nvim.lua("require('gemini-bridge.context.snapshot_debounce').subscribe(...)", NO_PAUSE);
}

export async function latencyRows(subject: Subject, floor: string): Promise<Row[]> {
  return within(async (scope) => {
    const { nvim, clients } = await startBridge(scope, subject, OPEN);
    await withoutPause(nvim, subject);
    const bare = await startSubject(scope, plain, OPEN);
    const floorClient = await connectFloor(scope, bare, floor);
    const context = clients[0]?.received["ide/contextUpdate"].at(-1);
    const next = move(nvim);
    const [figures, floors] = await takeTurns(RUNS, [
      () => delay(clients, next),
      () => delay([floorClient], () => bare.lua(SEND, context)),
    ]);
    const [figure, least] = [summarize(figures.slice(20)), summarize(floors.slice(20))];
    return [
      row("event to notification at the client", "ms", figure, { floor: least, goal: { ratio: 1.5 } }),
      row("event to notification at the client, 99th of 100", "ms", atP99(figure), {
        floor: atP99(least),
        goal: { ratio: 3 },
      }),
    ];
  });
}

/** Measures the time until the last of n clients has the context. The floor is n times the time of a single client. */
export async function broadcastRows(subject: Subject): Promise<Row[]> {
  const times = new Map<number, number[]>();
  for (const count of [1, 10, 100]) {
    await within(async (scope) => {
      const { nvim, clients } = await startBridge(scope, subject, { ...OPEN, clients: count });
      await withoutPause(nvim, subject);
      const next = move(nvim);
      const [samples] = await takeTurns(40, [() => delay(clients, next)]);
      times.set(count, samples.slice(10));
    });
  }
  const one = times.get(1) ?? [];
  return [...times].map(([count, samples]) =>
    row(
      `one context to ${count} ${count === 1 ? "client" : "clients"}, against ${count} × one`,
      "ms",
      samples,
      { floor: one.map((ms) => ms * count), goal: { ratio: 1 } },
    ),
  );
}
