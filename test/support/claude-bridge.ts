/** Starts a Neovim with a running bridge. The home directory contains Claude Code's folder. */
import type { Test } from "tap";
import { startBridge } from "./bridge.ts";
import type { NvimOptions } from "./nvim.ts";

export function startClaudeBridge(t: Test, options: NvimOptions = {}) {
  return startBridge(t, {
    ...options,
    files: { "a.txt": "one\ntwo\nthree\n", "../home/.claude/keep": "", ...options.files },
  });
}

/** A Lua expression that returns the buffer of a proposal. */
export const PROPOSAL = `vim.iter(vim.api.nvim_list_bufs()):find(function(buf)
  return (vim.b[buf].gemini_diff or {}).role == 'proposal'
end)`;
