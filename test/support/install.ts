/** Installs the plugin as the README describes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import { RunningBridge } from "./bridge.ts";
import { type Nvim, root } from "./nvim.ts";

const readme = readFileSync(join(root, "README.md"), "utf8");

/** Returns the code block of an installation method in the README. Replaces the published repository by `url`. */
export function way(heading: string, url: string): string {
  const section = readme.slice(readme.indexOf(`\n### ${heading}`));
  const block = /^```(?:lua|sh)\n([\s\S]*?)^```/m.exec(section)?.[1];
  if (block === undefined) throw new Error(`the README has no block for ${heading}`);
  const replaced = block.replace(/"(https:\/\/github\.com\/)?<owner>\/gemini-bridge\.nvim"/, `"${url}"`);
  if (replaced === block) throw new Error(`${heading} names no repository`);
  return replaced;
}

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
  await nvim.bridgeIs("running", 20_000);
  const client = await bridge.client();
  await client.openDiff(nvim.path("new.txt"), "written by a client\n");
  await nvim.command("GeminiAccept");
  const accepted = await client.waitForNotification("ide/diffAccepted");
  t.match(accepted, { content: "written by a client\n" });
  t.notMatch(await nvim.messages(), /Error|E\d+:/);
}
