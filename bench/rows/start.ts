/** From the command that starts the bridge until a CLI can find it. */
import * as z from "zod";
import { START_FLOOR } from "../floor/floor.ts";
import { summarize, takeTurns } from "../stats.ts";
import { plain, type Subject, startSubject, within } from "../subject.ts";
import type { Row } from "../table.ts";

const RUNS = 15;

/** Looks for the file each millisecond, as no event tells of it in every plugin. */
const START = `
local code, endpoint = ...
local directory = vim.fs.joinpath(vim.uv.os_tmpdir(), 'gemini', 'ide')
local function is_there()
  if endpoint ~= '' then return loadstring(endpoint)() ~= nil end
  for name in vim.fs.dir(directory) do
    if name:find('^gemini%-ide%-server%-%d+%-%d+%.json$') then return true end
  end
end
local run = assert(loadstring(code))
local start = vim.uv.hrtime()
run()
local blocked = (vim.uv.hrtime() - start) / 1e6
assert(vim.wait(20000, is_there, 1), 'no discovery file')
return { took = (vim.uv.hrtime() - start) / 1e6, blocked = blocked }
`;

const Took = z.object({ took: z.number(), blocked: z.number().default(0) });

export async function startRows(subject: Subject, floor: string): Promise<Row[]> {
  const figure = () =>
    within(async (scope) =>
      Took.parse(
        await (await startSubject(scope, subject)).lua(START, subject.start, subject.endpoint ?? ""),
      ),
    );
  const attached = () =>
    within(async (scope) =>
      Took.parse(await (await startSubject(scope, plain)).lua(START_FLOOR, floor, "idle")),
    );
  const [figures, floors] = await takeTurns(RUNS, [figure, attached]);
  return [
    {
      name: ":GeminiStart until the discovery file",
      unit: "ms",
      figure: summarize(figures.map(({ took }) => took)),
      floor: summarize(floors.map(({ took }) => took)),
      goal: { ratio: 1.25 },
    },
    {
      name: ":GeminiStart blocks the editor",
      unit: "ms",
      figure: summarize(figures.map(({ blocked }) => blocked)),
      goal: { most: 5 },
    },
  ];
}
