import { existsSync, rmSync, statSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import t from "tap";
import { z } from "zod";
import { type ContextHost, startContext } from "../support/context.ts";
import { fuzz } from "../support/fuzz.ts";

const names = ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"];

/**
 * Commands that create, delete, rename or focus buffers. Commands that only visit files (:bufdo, :pedit) are excluded,
 * because the user does not see these files.
 */
const commands = [
  ...[
    "edit",
    "split",
    "vsplit",
    "tabedit",
    "badd",
    "argadd",
    "buffer",
    "sbuffer",
    "bdelete",
    "bwipeout",
    "bunload",
  ],
  ...["saveas!", "file", "write!", "drop", "keepalt edit", "0read", "diffsplit"],
].flatMap((verb) => names.map((name) => `${verb} ${name}`));

const others = [
  ...[
    "new",
    "enew!",
    "write",
    "close",
    "only",
    "tabclose",
    "wincmd w",
    "wincmd p",
    "bnext",
    "bprevious",
    "bdelete!",
  ],
  ...["terminal sh", "help", "cclose | copen", "ball", "setlocal nobuflisted", "first"],
  ...[
    "buffer #",
    "edit fresh.txt",
    "setlocal buftype=nofile",
    "bwipeout!",
    "%bdelete!",
    "next",
    "pclose",
    "0file",
  ],
].concat(names.map((name) => `!rm ${name}`));

/** Lua that returns the data for the expected list: the buffers, the current focus, and the order of focus. */
const STATE = `
local buffers = {}
for _, buf in ipairs(vim.api.nvim_list_bufs()) do
  buffers[#buffers + 1] = {
    bufnr = buf, name = vim.api.nvim_buf_get_name(buf), type = vim.bo[buf].buftype, listed = vim.bo[buf].buflisted,
  }
end
return { buffers = buffers, current = vim.api.nvim_get_current_buf(), order = _G.order }`;

const State = z.object({
  buffers: z.array(z.object({ bufnr: z.int(), name: z.string(), type: z.string(), listed: z.boolean() })),
  current: z.int(),
  order: z.array(z.int()),
});

const INIT = `
_G.order = {}
vim.api.nvim_create_autocmd('BufEnter', { callback = function(args) table.insert(_G.order, args.buf) end })
vim.o.hidden, vim.o.swapfile = true, false`;

/** Computes the expected list from this data. */
async function reference(host: ContextHost, before: { active: number | undefined; entered: number }) {
  const { buffers, current, order } = State.parse(await host.nvim.lua(STATE));
  const files = buffers.filter(
    ({ name, type, listed }) =>
      listed && type === "" && !name.includes("://") && existsSync(name) && statSync(name).isFile(),
  );
  const isFile = (buf: number | undefined) => files.some(({ bufnr }) => bufnr === buf);
  const active = [current, ...order.slice(before.entered).reverse(), before.active].find(isFile);
  const rank = (bufnr: number) => order.lastIndexOf(bufnr);
  const paths = files
    .sort((x, y) => rank(y.bufnr) - rank(x.bufnr) || x.bufnr - y.bufnr)
    .map(({ name }) => name)
    .slice(0, 10);
  return {
    active,
    activePath: files.find(({ bufnr }) => bufnr === active)?.name,
    paths,
    entered: order.length,
  };
}

t.test(
  "after any sequence of buffer commands, the list of open files equals a simple reference",
  async (t) => {
    const { host } = await startContext(t, { init: INIT });
    await host.subscribe({ debounce: 2 });
    const sequence = fc.array(fc.constantFrom(...commands, ...others), { minLength: 8, maxLength: 14 });
    const holds = fc.assert(
      fc.asyncProperty(sequence, async (steps) => {
        await host.nvim.command("silent! tabonly! | silent! only! | silent! %bwipeout!");
        for (const name of names) writeFileSync(host.nvim.path(name), `${name}\n`);
        rmSync(host.nvim.path("fresh.txt"), { force: true });
        let before = await reference(host, { active: undefined, entered: 0 });
        for (const [index, step] of steps.entries()) {
          await host.nvim.command(`silent! ${step}`);
          const wanted = await reference(host, before);
          before = wanted;
          const seen = () => ({ active: host.active()?.path, paths: host.files().map(({ path }) => path) });
          const equal = () =>
            JSON.stringify(seen()) === JSON.stringify({ active: wanted.activePath, paths: wanted.paths });
          await host.nvim.waitFor(equal, "the list", 1000).catch(() => {
            const story = steps.slice(0, index + 1).join(" | ");
            throw new Error(`${story}: ${JSON.stringify(seen())} for ${JSON.stringify(wanted)}`);
          });
        }
      }),
      fuzz(t, "sequences of buffer commands", 30),
    );
    await t.resolves(holds);
  },
);
