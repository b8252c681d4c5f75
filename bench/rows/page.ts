/**
 * Measures the review page with many changed files: the times of the first drawing, of a key press and of an update,
 * and the used memory.
 */
import * as z from "zod";
import type { ShownChange } from "../../src/contract/changes.ts";
import { type Subject, startBridge, within } from "../subject.ts";
import { type Row, row } from "../table.ts";

const FILES = [200, 900];
const HUNKS = 5;
const PAINTS = 11;
const KEYS = 100;

/** Lua that adds changes as the host would send them. */
const ADD = `
for _, change in ipairs(...) do
  require('gemini-bridge.changes.changes').show({ path = change.path, change = change, edited = false })
end
`;

/** Lua that returns the memory that Lua uses (KB). */
const MEMORY = "collectgarbage() collectgarbage() return collectgarbage('count')";

const PAINT = `
local start = vim.uv.hrtime()
vim.cmd.GeminiChanges()
vim.cmd.redraw()
return (vim.uv.hrtime() - start) / 1e6
`;

const CLOSE = "vim.api.nvim_feedkeys('q', 'xt', false)";

/**
 * Lua that goes to the next hunk. Returns the time until the hunk is drawn (ms). Includes the time to load a file if
 * the hunk is in the next file.
 */
const NEXT = `
local key = vim.keycode(require('gemini-bridge.config').get().keys.next)
local start = vim.uv.hrtime()
vim.api.nvim_feedkeys(key, 'xt', false)
vim.cmd.redraw()
return (vim.uv.hrtime() - start) / 1e6
`;

/** Lua that updates a file after a decision on one hunk. Returns the time until the update is drawn (ms). */
const DECIDED = `
local change = ...
local start = vim.uv.hrtime()
require('gemini-bridge.changes.changes').show({ path = change.path, change = change, edited = false })
vim.cmd.redraw()
return (vim.uv.hrtime() - start) / 1e6
`;

/**
 * Creates the change of a file with `hunks` hunks. The user has already decided on `decided` of them, so the change
 * contains only the others.
 */
export function changeOf(path: string, hunks: number, decided = 0): ShownChange {
  const count = hunks - decided;
  return {
    path,
    status: "modified",
    added: 2 * count,
    removed: count,
    hunks: Array.from({ length: count }, (_, i) => ({
      id: i + 1,
      line: i * 20 + 1,
      count: 2,
      old: i * 19 + 1,
      removed: 1,
      conflict: false,
      turn: 1,
    })),
    decided,
    cli: "gemini",
    turn: 1,
    prompt: "change it all",
  };
}

export async function pageRows(subject: Subject): Promise<Row[]> {
  const rows: Row[] = [];
  for (const count of FILES)
    await within(async (scope) => {
      const names = Array.from({ length: count }, (_, i) => `folder${i % 20}/f${i}.txt`);
      const files = Object.fromEntries(names.map((name) => [name, "a line of text\n".repeat(100)]));
      const { nvim } = await startBridge(scope, subject, { files });
      const measure = async (code: string, ...args: unknown[]) =>
        z.number().parse(await nvim.lua(code, ...args));
      const changes = names.map((name) => changeOf(nvim.path(name), HUNKS));
      await nvim.lua(ADD, changes.slice(0, 1)); // loads the modules
      const before = await measure(MEMORY);
      await nvim.lua(ADD, changes);
      const memory = (await measure(MEMORY)) - before;
      const [paints, keys, updates]: [number[], number[], number[]] = [[], [], []];
      for (let run = 0; run < PAINTS; run += 1) {
        paints.push(await measure(PAINT));
        if (run < PAINTS - 1) await nvim.lua(CLOSE);
      }
      for (let run = 0; run < KEYS; run += 1) keys.push(await measure(NEXT));
      for (const name of names.slice(0, KEYS))
        updates.push(await measure(DECIDED, changeOf(nvim.path(name), HUNKS, 1)));
      rows.push(
        row(`review page of ${count} files: first paint`, "ms", paints, { goal: { most: 50 } }),
        row(`review page of ${count} files: key to the next hunk`, "ms", keys, { goal: { most: 5 } }),
        row(`review page of ${count} files: a decision is shown`, "ms", updates, { goal: { most: 5 } }),
        row(`memory of ${count} changes in the editor`, "KB", [memory]),
      );
    });
  return rows;
}
