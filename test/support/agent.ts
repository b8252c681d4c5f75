/** Starts Neovims in which a small shell program replaces the CLI, and reads the layout of windows. */
import type { Test } from "tap";
import { z } from "zod";
import { ATTACHED } from "./attached.ts";
import { type Nvim, type NvimOptions, startNvim } from "./nvim.ts";
import { waitFor } from "./wait.ts";

/**
 * A program that replaces the CLI. It prints its arguments, starts a child process that ignores SIGHUP and SIGTERM, and
 * then echoes its input. The child process ends when the test removes the home directory.
 */
const AGENT = `
${ATTACHED}
trap '' HUP
echo "args <$*> in <$(pwd)>"
env | grep -iE '^(GEMINI_CLI_IDE_|no_proxy|REMOTE_CONTAINERS|EXTRA|SHLVL)' | sort
sh -c 'trap "" HUP TERM; while [ -d "$HOME" ]; do sleep 1; done' &
echo "child <$!>"
stty raw -echo
printf '\\033[?2004h'
exec cat -v
`;

/** Lua that returns the layout: windows by column and row with their content, the focus, and the mode. */
const LAYOUT = `
local windows = {}
for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  local buf = vim.api.nvim_win_get_buf(win)
  windows[#windows + 1] = {
    terminal = vim.b[buf].gemini_terminal,
    width = vim.api.nvim_win_get_width(win),
    height = vim.api.nvim_win_get_height(win),
    column = vim.api.nvim_win_get_position(win)[2],
    row = vim.api.nvim_win_get_position(win)[1],
    float = vim.api.nvim_win_get_config(win).relative ~= '',
  }
end
return { windows = windows, current = vim.b.gemini_terminal, mode = vim.api.nvim_get_mode().mode }
`;
const Layout = z.object({
  windows: z.array(
    z.object({
      terminal: z.string().optional(),
      width: z.int(),
      height: z.int(),
      column: z.int(),
      row: z.int(),
      float: z.boolean(),
    }),
  ),
  current: z.string().optional(),
  mode: z.string(),
});

/** Returns the layout of the current tab page. */
export async function layout(nvim: Nvim): Promise<z.infer<typeof Layout>> {
  return Layout.parse(await nvim.lua(LAYOUT));
}

/**
 * Returns Lua that makes `:Gemini` run this program.
 * @param terminal Lua: further options of the group `terminal`
 */
const setUpAgent = (terminal: string) =>
  `require('gemini-bridge').setup({ terminal = { cmd = { 'sh', _G.agent }, ${terminal} } })`;

/**
 * Starts a Neovim in which `:Gemini` runs this program.
 * @param terminal Lua: further options of the group `terminal`
 */
export async function startWithAgent(t: Test, terminal = "", options: NvimOptions = {}): Promise<Nvim> {
  return startNvim(t, {
    ...options,
    init: `_G.agent = vim.fn.getcwd() .. '/agent.sh'\n${setUpAgent(terminal)}`,
    files: { "agent.sh": AGENT, "a.txt": "one\ntwo\nthree\n", ...options.files },
  });
}

/**
 * Prepares the same Neovim for the next case: ends the terminals, closes all windows, and sets other options of the
 * group `terminal`.
 */
export async function startOver(nvim: Nvim, terminal = ""): Promise<void> {
  await nvim.input("<C-\\><C-n>");
  await nvim.command("silent! tabonly | silent! only | %bwipeout!");
  await nvim.waitFor("#require('gemini-bridge.terminal.terminals').list() == 0", "the terminals to end");
  await nvim.lua(setUpAgent(terminal));
}

/**
 * Waits until the terminal shows a text.
 * @returns the whole text of the terminal
 */
export async function shows(nvim: Nvim, pattern: RegExp, name = "gemini"): Promise<string> {
  const read = async () => {
    const lines = z.array(z.string()).parse(
      await nvim.lua(
        `local terminal = require('gemini-bridge.terminal.terminals').get(...)
         return vim.api.nvim_buf_get_lines(terminal.buf, 0, -1, false)`,
        name,
      ),
    );
    const text = lines.join("");
    if (!pattern.test(text)) throw new Error(`the terminal shows ${JSON.stringify(lines)}`);
    return text;
  };
  return waitFor(read, `${pattern} in the terminal ${name}`);
}

/** Returns the process id of the child process, as printed by the program. */
export const childPid = (text: string) => Number(/child <(\d+)>/.exec(text)?.[1]);
