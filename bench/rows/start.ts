/** Measures the time from the start of the bridge until a CLI can find it. */
import * as z from "zod";
import { root } from "../../test/support/nvim.ts";
import { START_FLOOR } from "../floor/floor.ts";
import { takeTurns } from "../stats.ts";
import { ours, plain, type Subject, startSubject, within } from "../subject.ts";
import { type Row, row } from "../table.ts";

const RUNS = 15;

/**
 * Lua that starts a plugin and waits until CLIs can find it. Checks every millisecond whether the discovery file
 * exists, because not every plugin fires an event.
 */
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

/** Returns this plugin with other options. */
const setUp = (options: string): Subject => ({
  ...ours,
  init: `vim.opt.runtimepath:prepend(${JSON.stringify(root)}) require('gemini-bridge').setup(${options})`,
});

/** Lua that starts the bridge. Returns the time until |glob()| finds a file for each pattern (ms). */
const ANNOUNCE = `
local patterns = ...
local start = vim.uv.hrtime()
vim.cmd.GeminiStart()
local function are_there()
  return vim.iter(patterns):all(function(pattern) return vim.fn.glob(pattern) ~= '' end)
end
assert(vim.wait(20000, are_there, 1), 'no discovery file')
return (vim.uv.hrtime() - start) / 1e6
`;

const ONE = "$TMPDIR/gemini/ide/*.json";
const ALL = [ONE, "$TMPDIR/llxprt/ide/*.json", "~/.qwen/ide/*.lock"];

/** Measures a start with the discovery files of three CLIs. The floor is a start with a single file. */
async function announceRow(): Promise<Row> {
  const announced = (options: string, patterns: string[]) => () =>
    within(async (scope) => {
      const nvim = await startSubject(scope, setUp(options), { files: { "../home/.qwen/keep": "" } });
      return z.number().parse(await nvim.lua(ANNOUNCE, patterns));
    });
  const [all, one] = await takeTurns(RUNS, [
    announced("", ALL),
    announced("{ clis = { qwen = false, llxprt = false } }", [ONE]),
  ]);
  return row(":GeminiStart until the discovery files of three CLIs", "ms", all, {
    floor: one,
    goal: { more: 5 },
  });
}

/**
 * Lua that starts the bridge and sends a request as soon as the discovery file exists. Returns the time until the
 * answer (ms).
 */
const ANSWER = `
local start = vim.uv.hrtime()
vim.cmd.GeminiStart()
local path, answer
assert(vim.wait(20000, function()
  path = vim.fn.glob('$TMPDIR/gemini/ide/*.json')
  return path ~= ''
end, 1), 'no discovery file')
local found = vim.json.decode(table.concat(vim.fn.readfile(path)))
local client = vim.uv.new_tcp()
client:connect('127.0.0.1', found.port, function()
  client:read_start(function(_, data) answer = answer or data end)
  client:write(('GET /mcp HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\nAuthorization: Bearer %s\\r\\n\\r\\n'):format(found.port, found.authToken))
end)
assert(vim.wait(20000, function() return answer ~= nil end, 1) and answer:find('HTTP/1.1 400', 1, true), answer)
local took = (vim.uv.hrtime() - start) / 1e6
client:close()
return took
`;

/** Measures the time until the first request is answered. The answer must wait until the application is loaded. */
async function answerRow(): Promise<Row> {
  const answered = () =>
    within(async (scope) => z.number().parse(await (await startSubject(scope, ours)).lua(ANSWER)));
  const [took] = await takeTurns(RUNS, [answered]);
  return row(":GeminiStart until a request is answered", "ms", took);
}

/** Measures `:GeminiStart` when `autostart = "idle"` has already started the bridge. */
async function idleRow(): Promise<Row> {
  const waits = () =>
    within(async (scope) => {
      const nvim = await startSubject(scope, setUp("{ autostart = 'idle' }"));
      await nvim.nvim.request("nvim_ui_attach", [80, 24, {}]);
      const isRunning = "require('gemini-bridge').status().state == 'running'";
      await nvim.waitFor(isRunning, "the bridge to run", 20_000);
      return z
        .number()
        .parse(
          await nvim.lua(
            `local start = vim.uv.hrtime() vim.cmd.GeminiStart() assert(${isRunning}) return (vim.uv.hrtime() - start) / 1e6`,
          ),
        );
    });
  const [waited] = await takeTurns(RUNS, [waits]);
  return row(':GeminiStart with autostart = "idle", until it runs', "ms", waited, { goal: { most: 5 } });
}

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
    row(
      ":GeminiStart until the discovery file",
      "ms",
      figures.map(({ took }) => took),
      { floor: floors.map(({ took }) => took), goal: { ratio: 1.15 } },
    ),
    row(
      ":GeminiStart blocks the editor",
      "ms",
      figures.map(({ blocked }) => blocked),
      { goal: { most: 5 } },
    ),
    ...(subject === ours ? [await answerRow(), await announceRow(), await idleRow()] : []),
  ];
}
