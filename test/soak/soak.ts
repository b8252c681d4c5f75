/**
 * Runs two clients, a constantly moving cursor, and one diff per second, for MINUTES. Prints the resources of the
 * editor and the host, and fails if one of these resources grows.
 */
import { existsSync, readdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { residentMemory } from "../../bench/process.ts";
import { startBridge } from "../support/bridge.ts";

const MINUTES = Number(process.env["MINUTES"] ?? 3);

/** Share of the time during which caches, pools and compiled code may grow. */
const WARM_UP = 0.3;

/** Interval between two measurements (milliseconds). */
const INTERVAL = Math.min(5_000, MINUTES * 3_000);

/** Allowed growth of each resource: a share, and a fixed amount. */
const ALLOWED = {
  "host MB": { part: 0.1, fixed: 8 },
  "editor MB": { part: 0.1, fixed: 4 },
  handles: { part: 0, fixed: 2 },
  windows: { part: 0, fixed: 0 },
  buffers: { part: 0, fixed: 0 },
  autocommands: { part: 0, fixed: 0 },
};
type Figure = keyof typeof ALLOWED;

/** Returns the number of open file descriptors, from the list in /proc. */
function handles(pid: number): number {
  const path = `/proc/${pid}/fd`;
  return existsSync(path) ? readdirSync(path).length : 0;
}

t.setTimeout((MINUTES + 2) * 60_000);

t.test(
  `${MINUTES} minutes of work do not increase the resources of editor and host`,
  { timeout: (MINUTES + 2) * 60_000 },
  async (t) => {
    const names = Array.from({ length: 20 }, (_, i) => `${i}.txt`);
    const lines = Array.from({ length: 200 }, (_, i) => `line ${i}\n`).join("");
    const files = Object.fromEntries(names.map((name) => [name, lines]));
    const { bridge, nvim } = await startBridge(t, { files, args: names });
    await nvim.lua("vim.o.hidden = true");
    const clients = [await bridge.client("first"), await bridge.client("second")];
    const host = await bridge.host();
    const counts = { keys: 0, diffs: 0, contexts: 0 };
    const end = performance.now() + MINUTES * 60_000;

    const measure = async (): Promise<Record<Figure, number>> => ({
      "host MB": residentMemory(host),
      "editor MB": residentMemory(nvim.pid),
      handles: handles(host),
      windows: Number(await nvim.lua("return #vim.api.nvim_list_wins()")),
      buffers: Number(await nvim.lua("return #vim.api.nvim_list_bufs()")),
      autocommands: Number(await nvim.lua("return #vim.api.nvim_get_autocmds({})")),
    });

    async function move(): Promise<void> {
      while (performance.now() < end) {
        await nvim.input(["j", "k", "Vjj<Esc>", ":bnext<CR>", "G", "gg"][counts.keys++ % 6] ?? "j");
        await delay(10);
      }
    }

    const samples: Record<Figure, number>[] = [];
    async function review(): Promise<void> {
      let sampled = 0;
      while (performance.now() < end) {
        const round = counts.diffs++;
        const client = clients[round % clients.length];
        if (!client) throw new Error("no client");
        const path = nvim.path(names[round % names.length] ?? "");
        await client.openDiff(path, `${lines}proposed ${round}\n`);
        if (round % 3 === 0) await client.closeDiff(path);
        else {
          const accept = round % 3 === 1;
          await nvim.lua(`require('gemini-bridge').${accept ? "accept" : "reject"}({ path = ... })`, path);
          await client.waitForNotification(accept ? "ide/diffAccepted" : "ide/diffRejected");
        }
        for (const { received } of clients) {
          counts.contexts += received["ide/contextUpdate"].length;
          for (const list of Object.values(received)) list.length = 0;
        }
        if (performance.now() - sampled > INTERVAL) {
          sampled = performance.now();
          const sample = await measure();
          samples.push(sample);
          const figures = Object.entries(sample).map(([name, value]) => `${name} ${Math.round(value)}`);
          t.comment(`${Math.round((MINUTES * 60_000 - (end - sampled)) / 1000)} s: ${figures.join(", ")}`);
        }
        await delay(1_000);
      }
    }

    await Promise.all([move(), review()]);
    t.comment(`${counts.keys} keys, ${counts.diffs} diffs, ${counts.contexts} contexts received`);
    const settled = samples.slice(Math.floor(samples.length * WARM_UP));
    const half = Math.floor(settled.length / 2);
    t.ok(half > 0, "enough samples");
    for (const figure of Object.keys(ALLOWED) as Figure[]) {
      // Compares the lowest samples of both halves, because temporary memory does not count as growth.
      const lowest = (list: typeof samples) => Math.min(...list.map((sample) => sample[figure]));
      const [before, after] = [lowest(settled.slice(0, half)), lowest(settled.slice(half))];
      const { part, fixed } = ALLOWED[figure];
      t.ok(after <= before * (1 + part) + fixed, `${figure}: ${before.toFixed(1)}, then ${after.toFixed(1)}`);
    }
    t.equal(await bridge.host(), host, "the host is the same");
    t.same(
      clients.flatMap(({ errors }) => errors),
      [],
    );
    t.notMatch(await nvim.messages(), /stack traceback|E5108|has crashed/);
  },
);
