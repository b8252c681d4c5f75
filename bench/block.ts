/** Measures the longest time for which Neovim's event loop is blocked. */
import type { Nvim } from "../test/support/nvim.ts";

/**
 * Keeps the event loop running, and records the longest processor time of a single iteration. Elapsed time would depend
 * on other programs on the machine.
 */
const WATCH = `
local function now()
  local usage = vim.uv.getrusage()
  return (usage.utime.sec + usage.stime.sec) * 1e3 + (usage.utime.usec + usage.stime.usec) / 1e3
end
local idle, last, is_due = assert(vim.uv.new_idle()), now(), false
bench_longest = 0
local function turn()
  local time = now()
  bench_longest, last, is_due = math.max(bench_longest, time - last), time, false
end
idle:start(function()
  -- Ends an iteration only when a scheduled function runs, because only then is the editor free. The event loop alone
  -- proves nothing: Neovim also runs it while it reads or writes a file, to check for CTRL-C.
  if not is_due then
    is_due = true
    vim.schedule(turn)
  end
end)
bench_stop = function()
  idle:close()
  return bench_longest
end
`;

/** Returns the longest time for which the event loop is blocked while `run` runs (ms). */
export async function longestBlock(nvim: Nvim, run: () => Promise<unknown>): Promise<number> {
  await nvim.lua(WATCH);
  await nvim.lua("bench_longest = 0");
  await run();
  return Number(await nvim.lua("return bench_stop()"));
}
