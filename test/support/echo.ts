/** Starts a Neovim in which `:Gemini` runs a program that echoes its input. */
import { existsSync, readFileSync } from "node:fs";
import type { Test } from "tap";
import { ATTACHED } from "./attached.ts";
import { type Nvim, type NvimOptions, startNvim } from "./nvim.ts";
import { waitFor } from "./wait.ts";

/** A program that enables bracketed paste, then stores and echoes each received byte. */
export const AGENT = `${ATTACHED}; stty raw -echo; echo ready; printf '\\033[?2004h'; exec tee received\n`;
const FILES = {
  "agent.sh": AGENT,
  "a.txt": "one\ntwo\nthree\nfour\n",
  "sub/b c.txt": "b\n",
  "sub/d,e.": "d\n",
};

/**
 * Starts a Neovim in which `:Gemini` runs this program.
 * @param more Lua: further options
 */
export async function startWithEcho(t: Test, more = "", options: NvimOptions = {}): Promise<Nvim> {
  const init = `
    ${options.init ?? ""}
    vim.o.swapfile = false
    require('gemini-bridge').setup({
      terminal = { cmd = { 'sh', vim.fn.getcwd() .. '/agent.sh' }, position = 'bottom' }, ${more}
    })`;
  return startNvim(t, { ...options, init, files: { ...FILES, ...options.files } });
}

/** Returns all bytes that the program has received. Angle brackets mark pastes. */
export function received(nvim: Nvim): string {
  const path = nvim.path("received");
  const bytes = existsSync(path) ? readFileSync(path, "utf8") : "";
  return bytes.replaceAll("\x1b[200~", "<").replaceAll("\x1b[201~", ">");
}

/** Waits until the received bytes end with the expected text, or match a pattern. */
export async function receives(nvim: Nvim, expected: string | RegExp): Promise<void> {
  const check = () =>
    typeof expected === "string" ? received(nvim).endsWith(expected) : expected.test(received(nvim));
  await waitFor(check, String(expected)).catch(async (error: unknown) => {
    const got = JSON.stringify(received(nvim));
    const mode = await nvim.nvim.mode; // answered even while Neovim waits for a key
    const waiting = mode.blocking ? "?" : await nvim.lua(WAITING);
    throw new Error(`received ${got} in mode ${mode.mode}; waiting: ${waiting}`, { cause: error });
  });
}

/** Lua that returns the undelivered prompts and the messages of Neovim. */
const WAITING = `return vim.inspect({ require('gemini-bridge.prompt.outbox').list(), vim.fn.execute('messages') })`;
