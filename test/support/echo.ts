import { existsSync, readFileSync } from "node:fs";
import type { Test } from "tap";
import { type Nvim, type NvimOptions, startNvim } from "./nvim.ts";
import { waitFor } from "./wait.ts";

/** A program that keeps every byte it gets, having asked for bracketed paste, and shows it. */
export const AGENT = "stty raw -echo; echo ready; printf '\\033[?2004h'; exec tee received\n";
const FILES = {
  "agent.sh": AGENT,
  "a.txt": "one\ntwo\nthree\nfour\n",
  "sub/b c.txt": "b\n",
  "sub/d,e.": "d\n",
};

/** A Neovim in which that program is the CLI. `more` is Lua: more options. */
export async function startWithEcho(t: Test, more = "", options: NvimOptions = {}): Promise<Nvim> {
  const init = `
    ${options.init ?? ""}
    vim.o.swapfile = false
    require('gemini-bridge').setup({
      terminal = { cmd = { 'sh', vim.fn.getcwd() .. '/agent.sh' }, position = 'bottom' }, ${more}
    })`;
  return startNvim(t, { ...options, init, files: { ...FILES, ...options.files } });
}

/** Everything that the program got so far, a paste in angle brackets. */
export function received(nvim: Nvim): string {
  const path = nvim.path("received");
  const bytes = existsSync(path) ? readFileSync(path, "utf8") : "";
  return bytes.replaceAll("\x1b[200~", "<").replaceAll("\x1b[201~", ">");
}

/** Waits until the last that the program got is `expected`. */
export async function receives(nvim: Nvim, expected: string): Promise<void> {
  const check = () => received(nvim).endsWith(expected);
  await waitFor(check, JSON.stringify(expected), 8000).catch((error: unknown) => {
    throw new Error(`received ${JSON.stringify(received(nvim))}`, { cause: error });
  });
}
