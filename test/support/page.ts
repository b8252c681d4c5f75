import { readFileSync } from "node:fs";
import type { Test } from "tap";
import { z } from "zod";
import { startBridge } from "./bridge.ts";
import { HookedAgent } from "./hooked-agent.ts";
import type { NvimOptions } from "./nvim.ts";

const Lines = z.array(z.string());

/**
 * Lua that returns the buffers in the current tab page from left to right: name and cursor line. The name of the page's
 * tree is "page".
 */
const WINDOWS = `return vim.tbl_map(function(win)
  local name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win))
  name = vim.startswith(name, 'gemini-page://') and 'page' or vim.fn.fnamemodify(name, ':t')
  local focus = win == vim.api.nvim_get_current_win() and '*' or ''
  return ('%s%s:%d'):format(focus, name, vim.api.nvim_win_get_cursor(win)[1])
end, vim.api.nvim_tabpage_list_wins(0))`;

/** Starts a Neovim with an agent that writes files without asking. Opens the review page. */
export async function startPage(t: Test, options: NvimOptions) {
  const bridge = await startBridge(t, options);
  const { nvim } = bridge;
  const windows = async () =>
    Lines.parse(await nvim.lua(WINDOWS)).map((line) => line.replace(/ \d\d:\d\d:\d\d \(\d+\)/, " HH:MM:SS"));
  const page = {
    bridge,
    nvim,
    agent: new HookedAgent(bridge),
    read: (name: string) => readFileSync(nvim.path(name), "utf8"),
    windows,
    /** Returns the lines of the tree, without the blanks between columns. */
    tree: async () =>
      Lines.parse(
        await nvim.lua(`local buf = vim.fn.bufnr('^gemini-page://changes$')
          return buf > 0 and vim.api.nvim_buf_get_lines(buf, 0, -1, true) or { '' }`),
      ).map((line) => line.replace(/(?<=\S) +/g, " ")),
    /** Waits until the given number of files have undecided changes. */
    changed: (count: number) =>
      nvim.waitFor(`#require('gemini-bridge').changes() == ${count}`, `${count} changed files`, 20_000),
    /** Waits until the tree shows the given lines. */
    async shows(t: Test, ...wanted: string[]) {
      const isShown = async () => JSON.stringify(await page.tree()) === JSON.stringify(wanted);
      await nvim.waitFor(isShown, "the tree").catch(() => {});
      t.same(await page.tree(), wanted);
    },
    /** Waits until the tab page has the given windows. */
    async is(t: Test, ...wanted: string[]) {
      const isThere = async () => JSON.stringify(await windows()) === JSON.stringify(wanted);
      await nvim.waitFor(isThere, "the windows").catch(() => {});
      t.same(await windows(), wanted);
    },
  };
  return page;
}
