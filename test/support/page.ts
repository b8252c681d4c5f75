/** Starts a Neovim with unreviewed changes, and reads their list, their signs and the review page. */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import type { Test } from "tap";
import { z } from "zod";
import { RunningBridge, startBridge } from "./bridge.ts";
import { HookedAgent } from "./hooked-agent.ts";
import type { Nvim, NvimOptions } from "./nvim.ts";
import { isAlive } from "./processes.ts";
import { writeFiles } from "./sandbox.ts";
import { becomes } from "./wait.ts";

const Lines = z.array(z.string());

/** Lua encodes an empty table as an object. */
const list = <T extends z.ZodType>(item: T) =>
  z.preprocess((items) => (Array.isArray(items) ? items : []), z.array(item));

const Changes = list(
  z.object({
    path: z.string(),
    status: z.string(),
    added: z.int(),
    removed: z.int(),
    hunks: z.int(),
    ranges: list(z.object({ first: z.int(), last: z.int(), conflict: z.boolean() })),
    cli: z.string(),
  }),
);

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

/** Lua that returns the marks of a buffer: first and last line, and the sign. */
const SIGNS = `
local signs = {}
for name, namespace in pairs(vim.api.nvim_get_namespaces()) do
  if vim.startswith(name, 'gemini-bridge.changes') then
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })) do
      if mark[4].sign_text then
        table.insert(signs, ('%d-%d %s'):format(mark[2] + 1, mark[4].end_row + 1, vim.trim(mark[4].sign_text)))
      end
    end
  end
end
return table.concat(signs, ', ')`;

/** Starts a Neovim with an agent that writes files without asking. */
export async function startPage(t: Test, options: NvimOptions) {
  const { bridge } = await startBridge(t, options);
  return pageOf(bridge, new HookedAgent(bridge));
}

export type Page = Awaited<ReturnType<typeof startPage>>;

/** Lua that closes all windows and buffers but one, and opens files. */
const ONE_WINDOW = `
local directory, files = ...
_G.select, _G.size = _G.select or vim.ui.select, _G.size or { vim.o.columns, vim.o.lines }
vim.ui.select, vim.o.columns, vim.o.lines = _G.select, unpack(_G.size)
vim.cmd("silent! tabonly! | silent! only! | enew! | set hidden& autochdir& | cclose | messages clear")
for _, buf in ipairs(vim.api.nvim_list_bufs()) do
  if buf ~= vim.api.nvim_get_current_buf() then vim.api.nvim_buf_delete(buf, { force = true }) end
end
vim.api.nvim_set_current_dir(directory)
if #files > 0 then vim.cmd.args(files) end`;

/**
 * Lets the cases of a test file share a Neovim with a running bridge, each with its own files and its own agent.
 * @param file the test of the whole file, which shares Neovim: see `shareNvim`
 * @returns a function for the start of a case, which replaces {@link startPage}
 */
export function sharePage(file: Test) {
  let shared: { nvim: Nvim; agent: HookedAgent } | undefined;
  let cases = 0;
  return async (t: Test, { files = {}, args = [], init = "" }: NvimOptions): Promise<Page> => {
    if (!shared || !isAlive(shared.nvim.pid)) shared = await startPage(file, {});
    const { nvim } = shared;
    await shared.agent.hook("SessionEnd");
    await nvim.input("<C-\\><C-n>");
    await nvim.lua(ONE_WINDOW, nvim.dirs.workspace, []);
    await nvim.command("silent! GeminiKeep all");
    await nvim.waitFor("#require('gemini-bridge').changes() == 0", "no changes of earlier cases");
    const { workspace } = nvim.dirs;
    for (const name of readdirSync(workspace)) rmSync(join(workspace, name), { recursive: true });
    writeFiles(workspace, files);
    await nvim.lua(init);
    await nvim.lua(ONE_WINDOW, workspace, args);
    const bridge = new RunningBridge(t, nvim);
    const agent = new HookedAgent(bridge, `session ${++cases}`);
    shared = { nvim, agent };
    return pageOf(bridge, agent);
  };
}

function pageOf(bridge: RunningBridge, agent: HookedAgent) {
  const { nvim } = bridge;
  const changes = async () => Changes.parse(await nvim.lua("return require('gemini-bridge').changes()"));
  const nameOf = (path: string) => relative(nvim.dirs.workspace, path);
  const windows = async () =>
    Lines.parse(await nvim.lua(WINDOWS)).map((line) => line.replace(/ \d\d:\d\d:\d\d \(\w+\)/, " HH:MM:SS"));
  /** Returns the lines of the tree, without the blanks between columns. */
  const tree = async () =>
    Lines.parse(
      await nvim.lua(`local buf = vim.fn.bufnr('^gemini-page://changes$')
        return buf > 0 and vim.api.nvim_buf_get_lines(buf, 0, -1, true) or { '' }`),
    ).map((line) => line.replace(/(?<=\S) +/g, " "));
  return {
    bridge,
    nvim,
    agent,
    read: (name: string) => readFileSync(nvim.path(name), "utf8"),
    /** Returns the lines of the current buffer, separated by blanks. */
    lines: () => nvim.lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), ' ')"),
    changes,
    /** Waits until the given number of files have undecided changes. */
    changed: (count: number) =>
      nvim.waitFor(`#require('gemini-bridge').changes() == ${count}`, `${count} changed files`),
    /** Returns name and status of the changed files, sorted. */
    states: async () => (await changes()).map(({ path, status }) => `${nameOf(path)} ${status}`).sort(),
    /** Waits until exactly the given changes are listed: name, status, added lines, removed lines, number of hunks. */
    lists(t: Test, ...wanted: string[]) {
      const listed = async () =>
        (await changes()).map(
          ({ path, status, added, removed, hunks }) =>
            `${nameOf(path)} ${status} +${added} -${removed} ${hunks}`,
        );
      return becomes(t, listed, wanted);
    },
    /** Waits until the current buffer has exactly the given marks. */
    signs: (t: Test, wanted: string, what?: string) => becomes(t, () => nvim.lua(SIGNS), wanted, what),
    /** Returns the stored lists of all Neovims, as JSON. */
    storedLists(): string {
      const state = join(nvim.dirs.state, "nvim/gemini-bridge/store");
      const names = readdirSync(state, { recursive: true, encoding: "utf8" });
      const lists = names.filter((name) => name.endsWith("lists.json"));
      return lists.map((name) => readFileSync(join(state, name), "utf8")).join("\n");
    },
    windows,
    tree,
    /** Waits until the tree shows the given lines. */
    shows: (t: Test, ...wanted: string[]) => becomes(t, tree, wanted, "the tree"),
    /** Waits until the tab page has the given windows. */
    is: (t: Test, ...wanted: string[]) => becomes(t, windows, wanted, "the windows"),
  };
}
