/**
 * Measures the cost of the context inside Neovim: a CursorMoved with the plugin compared with one with an empty Lua
 * autocommand, in the same run, and a snapshot. Prints a table and asserts nothing.
 * usage: node --import ./scripts/typescript.mjs bench/context.ts [Neovim ...]
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { z } from "zod";
import { SUBSCRIPTION } from "../src/context/snapshot-debounce.ts";
import { type Nvim, root, startNvim } from "../test/support/nvim.ts";

const ROUNDS = 15;
const EVENTS = 2000;

/** Returns the median time of an event (us). Both kinds alternate, so that both run under the same load. */
const MEASURE = `
local rounds, events, selecting = ...
local context = require('gemini-bridge.context.snapshot_debounce')
local group = vim.api.nvim_create_augroup('bench', {})
local function run()
  local start = vim.uv.hrtime()
  for _ = 1, events do
    vim.api.nvim_exec_autocmds('CursorMoved', { buffer = 0 })
  end
  return (vim.uv.hrtime() - start) / events / 1000
end
local function median(values)
  table.sort(values)
  return values[math.ceil(#values / 2)]
end
local empty, plugin = {}, {}
for round = 1, rounds do
  context.unsubscribe()
  vim.api.nvim_create_autocmd('CursorMoved', { group = group, callback = function() end })
  empty[round] = run()
  vim.api.nvim_clear_autocmds({ group = group })
  context.subscribe(SUBSCRIPTION)
  plugin[round] = run()
end
return { empty = median(empty), plugin = median(plugin) }`;

/** Returns the time that the editor needs for each snapshot (ms). */
const SNAPSHOTS = `
local rounds = ...
local times = {}
local channel = require('gemini-bridge.bridge.channel')
local snapshot = require('gemini-bridge.context.snapshot')
for round = 1, rounds do
  local start = vim.uv.hrtime()
  channel.notify('context', snapshot.take(SUBSCRIPTION.maxSelection))
  times[round] = (vim.uv.hrtime() - start) / 1e6
end
table.sort(times)
return { median = times[math.ceil(rounds / 2)], worst = times[rounds] }`;

const Cost = z.object({ empty: z.number(), plugin: z.number() });
const Snapshots = z.object({ median: z.number(), worst: z.number() });

async function measure(nvim: Nvim, name: string): Promise<void> {
  const { empty, plugin } = Cost.parse(await nvim.lua(MEASURE, ROUNDS, EVENTS));
  const { median, worst } = Snapshots.parse(await nvim.lua(SNAPSHOTS, 200));
  const figures = [empty, plugin, plugin / empty, median, worst].map((figure) =>
    figure.toFixed(2).padStart(9),
  );
  process.stdout.write(`${name.padEnd(44)}${figures.join("")}\n`);
}

async function bench(binary: string): Promise<void> {
  process.env["NVIM_BIN"] = binary;
  const teardowns: (() => unknown)[] = [];
  try {
    for (const buffers of [10, 1000]) {
      const nvim = await startNvim(
        { teardown: (done) => teardowns.push(done) },
        {
          files: { "big.txt": "one line of ordinary length\n".repeat(200_000) },
          args: ["big.txt"],
          // The CursorMoved of matchparen would cost a hundred times as much.
          init: `vim.g.loaded_matchparen = 1
          for i = 2, ${buffers} do vim.cmd('badd f' .. i) end`,
        },
      );
      await nvim.lua("SUBSCRIPTION = ...", SUBSCRIPTION);
      const attach = { channel: await nvim.nvim.channelId, pid: process.pid };
      await nvim.lua("return require('gemini-bridge.host.rpc').call('attach', ...)", attach);
      await measure(nvim, `${buffers} buffers`);
      for (const [keys, what] of [
        ["ggVG", "200,000 lines selected"],
        ["gg0<C-v>G10l", "a block of 200,000 lines selected"],
        ["ggVj", "2 lines selected"],
      ] as const) {
        await nvim.input(`<Esc>${keys}`);
        await measure(nvim, `${buffers} buffers, ${what}`);
      }
    }
  } finally {
    for (const done of teardowns) await done();
  }
}

const named = process.argv.slice(2);
const binaries =
  named.length > 0
    ? named
    : execFileSync(join(root, "scripts/nvim.sh"), { encoding: "utf8" }).trim().split("\n");
for (const binary of binaries) {
  process.stdout.write(`\n${execFileSync(binary, ["--version"], { encoding: "utf8" }).split("\n")[0]}\n`);
  process.stdout.write(
    `${"".padEnd(44)}${["empty us", "ours us", "ratio", "snap. ms", "worst ms"].map((head) => head.padStart(9)).join("")}\n`,
  );
  await bench(binary);
}
