/** Starts a Neovim whose terminals are panes of tmux. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { Test } from "tap";
import { type Nvim, startNvim } from "./nvim.ts";
import { startTmux, type Tmux } from "./tmux.ts";
import { waitFor } from "./wait.ts";

/** A program that prints its arguments, one per line, and exits with the code that the user types. */
const AGENT = `#!/bin/sh
{ for word in "$@" "$(pwd)"; do echo "<$word>"; done; env; } >"$OUT/told.new"
mv "$OUT/told.new" "$OUT/told"
echo ready
read -r code
exit "$code"
`;

/** A wrapper of tmux that records its own command line. */
const WITNESS = `#!/bin/sh
printf '%s\\n' "$@" >>"$TMPDIR/tmux-arguments"
exec ${execFileSync("sh", ["-c", "command -v tmux"], { encoding: "utf8" }).trim()} "$@"
`;

/** A tmux pane, with its position in cells. */
export interface Pane {
  id: string;
  window: string;
  left: number;
  top: number;
  width: number;
  height: number;
  active: boolean;
  command: string;
}

const FORMAT = ["pane_id", "window_id", "pane_left", "pane_top", "pane_width", "pane_height"]
  .concat("window_active", "pane_active", "pane_start_command")
  .map((name) => `#{${name}}`)
  .join("\t");

/** Returns all panes of a tmux server. */
export function panes(tmux: Tmux): Pane[] {
  return tmux("list-panes", "-s", "-F", FORMAT)
    .split("\n")
    .map((line) => {
      const [id = "", window = "", left, top, width, height, ...rest] = line.split("\t");
      const [inWindow, inPane, command = ""] = rest;
      const active = inWindow === "1" && inPane === "1";
      const [x, y, columns, lines] = [left, top, width, height].map(Number) as [
        number,
        number,
        number,
        number,
      ];
      return { id, window, left: x, top: y, width: columns, height: lines, active, command };
    });
}

/** Returns the socket of the tmux in which a Neovim was started. */
export const socketOf = (nvim: Nvim) => join(nvim.dirs.base, "tmux");
/** Returns the path of the file that contains the program's output. */
export const told = (nvim: Nvim) => join(nvim.dirs.tmp, "told");

interface Options {
  /** Lua: further options of the group `terminal`. */
  terminal?: string;
  cwd?: string;
}

/**
 * Returns Lua that makes `:Gemini` open tmux panes.
 * @param terminal Lua: further options of the group `terminal`
 */
export const setUpTmux = (terminal: string) => `require('gemini-bridge').setup({
  terminal = { provider = 'tmux', cmd = { 'my-cli' }, env = { OUT = vim.env.TMPDIR }, ${terminal} },
})`;

/** Prepares the same Neovim for the next case: closes a pane, and sets other options. */
export async function startOver(nvim: Nvim, tmux: Tmux, pane: string, terminal: string): Promise<void> {
  tmux("kill-pane", "-t", pane);
  await nvim.waitFor("#require('gemini-bridge.terminal.terminals').list() == 0", "the terminal to end");
  await nvim.lua(setUpTmux(terminal));
}

/** Starts a Neovim in which `:Gemini` opens tmux panes. */
export async function startEditor(t: Test, { terminal = "", cwd }: Options = {}): Promise<Nvim> {
  const nvim = await startNvim(t, {
    files: { "bin/my-cli": AGENT, "bin/tmux": WITNESS },
    init: `
      local bin = vim.env.XDG_RUNTIME_DIR .. '/../workspace/bin'
      for _, name in ipairs({ 'my-cli', 'tmux' }) do vim.uv.fs_chmod(bin .. '/' .. name, 448) end
      vim.env.PATH = bin .. ':' .. vim.env.PATH
      ${setUpTmux(terminal)}`,
    ...(cwd === undefined ? {} : { cwd }),
  });
  return nvim;
}

/**
 * Starts a Neovim in a tmux pane. `:Gemini` opens further panes.
 * @returns Neovim, tmux, and the pane
 */
export async function startInTmux(t: Test, options: Options = {}) {
  const nvim = await startEditor(t, options);
  const tmux = await startTmux(t, nvim, "/tmp");
  const own = panes(tmux)[0]?.id ?? "";
  return { nvim, tmux, own };
}

/** Waits for a new pane in which the program runs. */
export async function opened(nvim: Nvim, tmux: Tmux, count = 2): Promise<Pane> {
  await waitFor(() => panes(tmux).length === count, `${count} panes`);
  const newest = panes(tmux).reduce((a, b) => (Number(a.id.slice(1)) > Number(b.id.slice(1)) ? a : b));
  await waitFor(() => tmux("capture-pane", "-p", "-t", newest.id).includes("ready"), "the program");
  await nvim.waitFor("require('gemini-bridge.terminal.terminals').last().pane", "the terminal");
  return newest;
}

/** Returns the names of the running terminals. */
export const terminalNames = (nvim: Nvim) =>
  nvim.lua(
    "return vim.tbl_map(function(one) return one.name end, require('gemini-bridge.terminal.terminals').list())",
  );
