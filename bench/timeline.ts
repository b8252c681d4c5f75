/**
 * Prints when the steps of a review happen in client, host and editor: milliseconds after the client's request. Each
 * time is the median of many reviews. The proposal has 1 KB, or the given size. `make bench` does not run this program.
 * README.md shows the result.
 * usage: NVIM_BIN=… node --import ./scripts/typescript.mjs bench/timeline.ts [bytes]
 */
import * as z from "zod";
import { closeDiff, texts } from "./rows/diffs.ts";
import { summarize } from "./stats.ts";
import { ours, startBridge, within } from "./subject.ts";

const REVIEWS = 60;

/** Lua that records when functions of the plugin's modules begin and end. */
const TRACE = `
bench_marks = {}
local function mark(name)
  bench_marks[#bench_marks + 1] = { name = name, at = tostring(vim.uv.hrtime()) }
end
local function wrap(module, name)
  local room = require('gemini-bridge.' .. module)
  local original = room[name]
  room[name] = function(...)
    mark(name .. ' begins')
    local results = { original(...) }
    mark(name .. ' ends')
    return unpack(results)
  end
end
wrap('calls', 'call')
wrap('review.proposal', 'buffers')
wrap('review.window.open_windows', 'open')
wrap('review.window.winbar', 'update')
wrap('review.window.open_windows', 'note_layout')
wrap('review.proposal', 'set_filetypes')
wrap('review.keys', 'map')
wrap('review.hunk_updates', 'update')
wrap('review.decision', 'announce')
`;

const Marks = z.array(z.object({ name: z.string(), at: z.string() }));

await within(async (scope) => {
  const { before, after } = texts(Number(process.argv[2] ?? 1_000));
  const { nvim, client } = await startBridge(scope, ours, { files: { "a.txt": before }, args: ["a.txt"] });
  const path = nvim.path("a.txt");
  await client.openDiff(path, "warm");
  await closeDiff(client, path);
  await nvim.lua(TRACE);
  const times = new Map<string, number[]>();
  for (let i = 0; i < REVIEWS; i += 1) {
    await nvim.lua("bench_marks = {}");
    const start = process.hrtime.bigint();
    await client.openDiff(path, `${after}${i}\n`);
    const answered = process.hrtime.bigint();
    await nvim.lua("return 1");
    const followed = process.hrtime.bigint();
    const marks = Marks.parse(await nvim.lua("return bench_marks"));
    const all = [
      ...marks.map(({ name, at }) => ({ name, at: BigInt(at) })),
      { name: "ANSWERED", at: answered },
      { name: "FOLLOWED", at: followed },
    ];
    const seen = new Map<string, number>();
    for (const { name, at } of all) {
      const count = (seen.get(name) ?? 0) + 1;
      seen.set(name, count);
      const key = count > 1 ? `${name} ${count}` : name;
      times.set(key, [...(times.get(key) ?? []), Number(at - start) / 1e6]);
    }
    await closeDiff(client, path);
  }
  const rows = [...times].map(([name, list]) => ({ name, ...summarize(list) }));
  for (const { name, median, low, high } of rows.toSorted((a, b) => a.median - b.median))
    console.log(`${median.toFixed(2).padStart(7)} (${low.toFixed(2)}–${high.toFixed(2)})  ${name}`);
});
