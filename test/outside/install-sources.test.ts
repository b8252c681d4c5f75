/** Tests the installation from sources as the README describes, with a build by npm. */
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { FORGET, reachesRunning, way } from "../support/install.ts";
import { startNvim } from "../support/nvim.ts";
import { plantRepository } from "../support/plugin.ts";
import { makeDirectory } from "../support/sandbox.ts";

/** Timeout for an installation with npm (milliseconds). Usually takes 7 s, but longer on a slow network. */
const PATIENCE = 120_000;
t.setTimeout(2 * PATIENCE);

/** Uses npm's usual cache. With the empty HOME of each Neovim, npm would download all packages again. */
const env = { npm_config_cache: process.env["npm_config_cache"] ?? join(homedir(), ".npm") };

t.test("a checkout in the runtime path is built by :GeminiBuild", async (t) => {
  const url = plantRepository(join(makeDirectory(t), "gemini-bridge.nvim"));
  const init = FORGET + way("Without a plugin manager", fileURLToPath(url));
  const nvim = await startNvim(t, { init, env });
  await nvim.command("GeminiBuild");
  await nvim.says("gemini-bridge: The build is complete", PATIENCE);
  await reachesRunning(t, nvim, /\/gemini-bridge\.nvim/);
});
