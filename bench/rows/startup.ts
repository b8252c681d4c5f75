/** Measures the start of Neovim with the installed but unused plugin. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { nvimBinary, root } from "../../test/support/nvim.ts";
import { makeDirs, makeEnv, removeDirs, withEnv, writeFiles } from "../../test/support/sandbox.ts";
import { summarize, takeTurns } from "../stats.ts";
import { within } from "../subject.ts";
import { type Row, row } from "../table.ts";

/** Number of starts. Many are needed, because two starts differ by more than the time that the plugin adds. */
const RUNS = 100;

const OPTIONS = "{ log = { level = 'debug' }, diff = { layout = 'tab' }, keys = { accept = 'ga' } }";

const onPath = (folder: string) => `vim.opt.runtimepath:prepend(${JSON.stringify(folder)})\n`;

const setup = (options: string) => `${onPath(root)}
local start = vim.uv.hrtime()
require('gemini-bridge').setup(${options})
vim.fn.writefile({ tostring((vim.uv.hrtime() - start) / 1e6) }, 'setup')
`;

/** Returns the time of a whole start, according to `--startuptime`, and the time of `setup()` (ms). */
function start(dirs: ReturnType<typeof makeDirs>, init: string): { whole: number; setup: number } {
  writeFiles(dirs.config, { "nvim/init.lua": init });
  const log = join(dirs.workspace, "startup");
  const command = [nvimBinary(), "--headless", "--startuptime", log, "+qall"];
  const [file = "", ...words] = withEnv(makeEnv(dirs), command);
  writeFiles(dirs.workspace, { startup: "", setup: "" });
  execFileSync(file, words, { cwd: dirs.workspace });
  const started = readFileSync(log, "utf8")
    .split("\n")
    .filter((line) => line.includes("NVIM STARTED"))
    .map((line) => Number.parseFloat(line));
  return {
    whole: Math.max(...started), // Neovim 0.12 writes one time for each of its processes
    setup: Number.parseFloat(readFileSync(join(dirs.workspace, "setup"), "utf8")),
  };
}

export async function startupRows(): Promise<Row[]> {
  return within(async (scope) => {
    const dirs = makeDirs();
    scope.teardown(() => removeDirs(dirs));
    const empty = join(dirs.base, "empty");
    mkdirSync(empty);
    const [with_, without, full] = await takeTurns(RUNS, [
      async () => start(dirs, onPath(root)).whole,
      async () => start(dirs, onPath(empty)).whole,
      async () => start(dirs, setup(OPTIONS)).setup,
    ]);
    const floor = summarize(without);
    // Compares each start with the plugin to the neighbouring start without the plugin, because other load on the
    // machine changes the time of a start more than the plugin does.
    const beyond = with_.map((took, i) => took - (without[i] ?? Number.NaN));
    return [
      row(
        "start of Neovim, plugin installed",
        "ms",
        beyond.map((more) => floor.median + more),
        { floor, goal: { more: 1 } },
      ),
      row("setup() with options", "ms", full, { goal: { most: 1 } }),
    ];
  });
}
