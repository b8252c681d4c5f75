import t from "tap";
import { z } from "zod";
import { type ContextHost, startContext } from "../support/context.ts";

const names = Array.from({ length: 12 }, (_, index) => `f${index}.txt`);
const files = Object.fromEntries(names.map((name) => [name, "x\n"]));
const newest = [...names].reverse();

/** Returns the memory of Lua (KB). */
async function memory(host: ContextHost): Promise<number> {
  return z
    .number()
    .parse(await host.nvim.lua("collectgarbage() collectgarbage() return collectgarbage('count')"));
}

/** Limit of the growth: above the size of a bounded table, below that of an unbounded one after the rounds below. */
const MUCH = 400;

t.test("the focus history stays small during days without a CLI", async (t) => {
  const host = await startContext(t, { files, connected: false });
  const { nvim } = host;
  // Closes windows without autocommands, which would remove their entries.
  const rounds = `
    for _ = 1, ... do
      vim.cmd.split('f1.txt')
      vim.cmd('noautocmd close')
    end`;
  for (const name of names) await nvim.command(`edit ${name}`);
  for (let i = 0; i < 5; i++) await nvim.lua(rounds, 500);
  const before = await memory(host);
  for (let i = 0; i < 10; i++) await nvim.lua(rounds, 500);
  const grown = (await memory(host)) - before;
  t.ok(grown < MUCH, `${Math.round(grown)} KB more`);
  await host.subscribe();
  await host.until(t, () => host.paths(), newest.slice(0, 10), "the last files, in the order of focus");
});

t.test("buffers deleted without an autocommand do not displace files", async (t) => {
  const host = await startContext(t, { files });
  await host.subscribe({ debounce: 5 });
  const { nvim } = host;
  for (const name of names) await nvim.command(`edit ${name}`);
  for (let round = 0; round < 6; round++) {
    const before = host.snapshots.length;
    await nvim.lua(`
      local file = vim.api.nvim_get_current_buf()
      for _ = 1, 250 do
        vim.cmd('noautocmd let g:new = nvim_create_buf(v:true, v:false)')
        vim.cmd.buffer(vim.g.new)
        vim.cmd.buffer(file)
        vim.cmd('noautocmd bwipeout! ' .. vim.g.new)
      end`);
    await nvim.waitFor(() => host.snapshots.length > before, "a snapshot");
  }
  await host.call("context_unsubscribe", {});
  await host.subscribe();
  await host.until(t, () => host.paths(), newest.slice(0, 10), "the last files, in the order of focus");
});
