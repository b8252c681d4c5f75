/** Runs a program in a pseudo-terminal. */
import type { NeovimClient } from "neovim";

/** Size of a screen, in cells. */
export interface Size {
  columns: number;
  lines: number;
}

/** A program in a pseudo-terminal. */
export interface Terminal {
  /** Returns the lines of the screen. */
  screen(): Promise<string[]>;
  /** Sends keys like a keyboard: raw bytes, `\r` for Enter, `\x1b` for Escape. */
  type(keys: string): Promise<void>;
  /** Exit code of the program, when it has ended. */
  exited: Promise<number>;
}

const OPEN = `
local command, cwd, channel, columns, lines = ...
vim.o.columns, vim.o.lines = columns, lines + 1
vim.o.laststatus, vim.o.ruler, vim.o.showmode, vim.o.showtabline = 0, false, false, 0
local options = { cwd = cwd }
function options.on_exit(_, code)
  vim.rpcnotify(channel, 'terminal_exit', code)
end
if vim.fn.has('nvim-0.11') == 1 then
  options.term = true
  return vim.fn.jobstart(command, options)
end
return vim.fn.termopen(command, options)
`;

/** Runs a program in a terminal of `outer`, a Neovim that serves only as a terminal. */
export async function openTerminal(
  outer: NeovimClient,
  command: readonly string[],
  cwd: string,
  { columns, lines }: Size,
): Promise<Terminal> {
  const exited = new Promise<number>((resolve) => {
    outer.on("notification", (name: string, [code]: number[]) => {
      if (name === "terminal_exit") resolve(code ?? -1);
    });
  });
  const job = await outer.request("nvim_exec_lua", [
    OPEN,
    [command, cwd, await outer.channelId, columns, lines],
  ]);
  return {
    screen: () => outer.request("nvim_buf_get_lines", [0, -1 - lines, -1, false]),
    type: (keys) => outer.request("nvim_call_function", ["chansend", [job, keys]]),
    exited,
  };
}
