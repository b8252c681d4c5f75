/** Asks Neovim which files and directories are open. */
import { setTimeout as delay } from "node:timers/promises";
import type { Bridge } from "../neovim/bridge.ts";
import type { OpenPlaces } from "./commands/shell-commands.ts";

/** Timeout for the answer. Lua cannot answer while Neovim shows a prompt. */
const LUA_TIMEOUT_MS = 200;

/**
 * @param directories the directories that are open at the start
 * @returns a function that returns what is open. If Neovim does not answer, the function returns the last answer
 */
export function createOpenPlaces(bridge: Pick<Bridge, "call">, directories: readonly string[]) {
  let last: OpenPlaces = { files: [], directories };
  return async (): Promise<OpenPlaces> => {
    const open = await Promise.race([
      bridge.call("files_open", {}).catch(() => undefined),
      delay(LUA_TIMEOUT_MS, undefined, { ref: false }),
    ]);
    if (open) last = { files: open.paths, directories: open.directories };
    return last;
  };
}
