/** Measures cursor and buffer events, and the snapshot that follows. */
import * as z from "zod";
import type { Nvim } from "../../test/support/nvim.ts";
import { longestBlock } from "../block.ts";
import { takeTurns } from "../stats.ts";
import { ours, plain, startBridge, startSubject, within } from "../subject.ts";
import { type Row, row } from "../table.ts";

const RUNS = 15;
const SNAPSHOTS = 20;

/**
 * Lua that fires a thousand events, each in the next buffer of the buffer list. Returns the mean time of an event (us).
 */
const FIRE = `
local event, bufs = ..., vim.api.nvim_list_bufs()
local start = vim.uv.hrtime()
for i = 1, 1000 do vim.api.nvim_exec_autocmds(event, { modeline = false, buffer = bufs[i % #bufs + 1] }) end
return (vim.uv.hrtime() - start) / 1e6
`;

const EMPTY = `
vim.api.nvim_create_autocmd('CursorMoved', { callback = function() end })
`;

/** Lua that adds files to the buffer list until the list has a given length. */
const BUFFERS = `
for i = 2, ... do vim.bo[vim.fn.bufadd(('%s/file%d.txt'):format(vim.fn.getcwd(), i))].buflisted = true end
`;

const SELECTION = `
vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.fn['repeat']({ 'a line of ordinary length, as they are' }, 200000))
vim.cmd('normal! ggVG')
`;

interface Situation {
  name: string;
  clients: number;
  prepare: (nvim: Nvim) => Promise<unknown>;
}

const buffers = (count: number) => (nvim: Nvim) => nvim.lua(BUFFERS, count);

const situations: Situation[] = [
  { name: "10 buffers, 3 clients", clients: 3, prepare: buffers(10) },
  { name: "200,000 lines selected, 3 clients", clients: 3, prepare: (nvim) => nvim.lua(SELECTION) },
];

const FILES = { "a.txt": "one\ntwo\nthree\n" };
const OPEN = { files: FILES, args: ["a.txt"] };

function fire(nvim: Nvim, event: string): () => Promise<number> {
  return async () => z.number().parse(await nvim.lua(FIRE, event));
}

async function eventRow({ name, clients, prepare }: Situation): Promise<Row> {
  return within(async (scope) => {
    const { nvim } = await startBridge(scope, ours, { ...OPEN, clients });
    const empty = await startSubject(scope, plain, { ...OPEN, init: EMPTY });
    await Promise.all([prepare(nvim), prepare(empty)]);
    const event = "CursorMoved";
    const [figures, floor] = await takeTurns(RUNS, [fire(nvim, event), fire(empty, event)]);
    return row(`${event}, ${name}`, "us", figures, { floor, goal: { most: 5 } });
  });
}

export async function eventRows(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const situation of situations) rows.push(await eventRow(situation));
  return rows;
}

/** Lua that moves the cursor and fires CursorMoved, as a typed key would do. */
const MOVE = "vim.api.nvim_win_set_cursor(0, { ..., 0 }) vim.api.nvim_exec_autocmds('CursorMoved', {})";

export async function snapshotRows(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [name, prepare] of [
    ["1,000 buffers", buffers(1000)],
    ["200,000 lines selected", (nvim: Nvim) => nvim.lua(SELECTION)],
  ] as const) {
    const samples = await within(async (scope) => {
      const { nvim, clients } = await startBridge(scope, ours, OPEN);
      await prepare(nvim);
      const taken: number[] = [];
      for (let i = 0; i < SNAPSHOTS; i += 1) {
        const list = clients[0]?.received["ide/contextUpdate"] ?? [];
        list.length = 0;
        taken.push(
          await longestBlock(nvim, async () => {
            await nvim.lua(MOVE, 2 - (i % 2));
            await clients[0]?.waitForNotification("ide/contextUpdate");
          }),
        );
      }
      return taken.slice(1); // omits the first snapshot, because it contains the new buffers
    });
    rows.push(row(`longest block while a snapshot is taken, ${name}`, "ms", samples, { goal: { most: 16 } }));
  }
  return rows;
}
