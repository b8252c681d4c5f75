/** Installs the plugin as the README describes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import { RunningBridge } from "./bridge.ts";
import { type Nvim, root } from "./nvim.ts";

const readme = readFileSync(join(root, "README.md"), "utf8");

/** Returns the Lua code of an installation method in the README. Replaces the checkout by the folder `checkout`. */
export function way(name: string, checkout: string): string {
  const section = readme.slice(readme.search(new RegExp(`^(\\*\\*|With \\[)${name}`, "m")));
  const block = /^```lua\n([\s\S]*?)^```/m.exec(section)?.[1];
  if (block === undefined) throw new Error(`the README has no block for ${name}`);
  const replaced = block.replace("~/src/gemini-bridge.nvim", checkout);
  if (replaced === block) throw new Error(`${name} names no checkout`);
  return replaced;
}

/** Lua that sets the key maps of the README's specification for lazy.nvim, as lazy.nvim does. */
export const README_KEYS = `for _, key in ipairs((${way("lazy.nvim", root)}).keys) do
  vim.keymap.set(key.mode or "n", key[1], key[2], { desc = key.desc })
end`;

/** Lua that removes this checkout from 'runtimepath', so that Neovim can only find the installed plugin. */
export const FORGET = `vim.opt.runtimepath:remove(${JSON.stringify(root)})\n`;

/**
 * Asserts that Neovim finds the plugin only in `directory`, starts without an error, and shows a change that a client
 * proposes.
 */
export async function reachesRunning(t: Test, nvim: Nvim, directory: RegExp): Promise<void> {
  t.match(await nvim.lua("return vim.api.nvim_get_runtime_file('lua/gemini-bridge/init.lua', true)"), [
    directory,
  ]);
  await nvim.input(":GeminiStart<CR>");
  const bridge = new RunningBridge(t, nvim);
  await nvim.bridgeIs("running");
  const client = await bridge.client();
  await client.openDiff(nvim.path("new.txt"), "written by a client\n");
  await nvim.command("GeminiAccept");
  const accepted = await client.waitForNotification("ide/diffAccepted");
  t.match(accepted, { content: "written by a client\n" });
  t.notMatch(await nvim.messages(), /Error|E\d+:/);
}
