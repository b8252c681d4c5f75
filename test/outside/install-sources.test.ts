/** Tests the installation from sources as the README describes, with a build by npm. */
import { execFileSync } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { FORGET, reachesRunning, way } from "../support/install.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";
import { plantRepository } from "../support/plugin.ts";
import { makeDirectory } from "../support/sandbox.ts";

/** Timeout for an installation with npm (milliseconds). Usually takes 7 s, but longer on a slow network. */
const PATIENCE = 120_000;
t.setTimeout(2 * PATIENCE);

/** Uses npm's usual cache. With the empty HOME of each Neovim, npm would download all packages again. */
const env = { npm_config_cache: process.env["npm_config_cache"] ?? join(homedir(), ".npm") };

async function waitForBuild(nvim: Nvim): Promise<void> {
  const isBuilt = "require('gemini-bridge.host.bundle').problem() == nil";
  await nvim.waitFor(isBuilt, "the build", PATIENCE);
}

t.test("the plugin manager builds the sources after the installation", async (t: Test) => {
  const url = plantRepository(join(makeDirectory(t), "gemini-bridge.nvim"));
  const probe = await startNvim(t);
  if ((await probe.lua("return vim.pack ~= nil")) === true) {
    const block = way("From the sources", url).replace(" })\n", " }, { confirm = false })\n");
    const nvim = await startNvim(t, { init: `${FORGET}vim.schedule(function()\n${block}end)`, env });
    await nvim.waitFor("pcall(require, 'gemini-bridge.host.bundle')", "the clone", PATIENCE);
    await waitForBuild(nvim);
    await reachesRunning(t, nvim, /site\/pack\/core\/opt\/gemini-bridge\.nvim/);
    return;
  }
  const nvim = await startNvim(t, { init: FORGET, env });
  const folder = join(nvim.dirs.data, "nvim/site/pack/plugins/start/gemini-bridge.nvim");
  execFileSync("git", ["clone", "--quiet", url, folder]);
  await nvim.command("packloadall!");
  await nvim.command("GeminiBuild");
  await nvim.says("gemini-bridge: The build is complete", PATIENCE);
  await reachesRunning(t, nvim, /site\/pack\/plugins\/start\/gemini-bridge\.nvim/);
});
