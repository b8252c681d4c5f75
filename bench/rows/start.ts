/** Measures the time from the start of the bridge until a CLI can find it. */
import * as z from "zod";
import { START_FLOOR } from "../floor/floor.ts";
import { takeTurns } from "../stats.ts";
import { ours, plain, startSubject, within } from "../subject.ts";
import { type Row, row } from "../table.ts";

const RUNS = 15;

/**
 * Lua that starts the bridge and waits until CLIs can find it. Checks every millisecond whether the discovery file
 * exists.
 */
const START = `
local directory = vim.fs.joinpath(vim.uv.os_tmpdir(), 'gemini', 'ide')
local function is_there()
  for name in vim.fs.dir(directory) do
    if name:find('^gemini%-ide%-server%-%d+%-%d+%.json$') then return true end
  end
end
local start = vim.uv.hrtime()
vim.cmd.GeminiStart()
local blocked = (vim.uv.hrtime() - start) / 1e6
assert(vim.wait(20000, is_there, 1), 'no discovery file')
return { took = (vim.uv.hrtime() - start) / 1e6, blocked = blocked }
`;

const Took = z.object({ took: z.number(), blocked: z.number().default(0) });

export async function startRows(floor: string): Promise<Row[]> {
  const figure = () =>
    within(async (scope) => Took.parse(await (await startSubject(scope, ours)).lua(START)));
  const attached = () =>
    within(async (scope) => Took.parse(await (await startSubject(scope, plain)).lua(START_FLOOR, floor)));
  const [figures, floors] = await takeTurns(RUNS, [figure, attached]);
  return [
    row(
      ":GeminiStart until the discovery file",
      "ms",
      figures.map(({ took }) => took),
      { floor: floors.map(({ took }) => took), goal: { most: 300 } },
    ),
    row(
      ":GeminiStart blocks the editor",
      "ms",
      figures.map(({ blocked }) => blocked),
      { goal: { most: 16 } },
    ),
  ];
}
