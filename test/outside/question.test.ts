/**
 * Tests the CLI's question whether to connect, with the real CLI outside Neovim. README, help and doctor advise how to
 * answer.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { startBridge } from "../support/bridge.ts";
import { type Cli, startCliInNvim } from "../support/cli.ts";
import { startModel } from "../support/model.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";

const QUESTION = /Do you want to connect Neovim/;

/** Starts a bridge, and a CLI that was never connected. The CLI's terminal has no variables of the bridge. */
async function start(t: Test): Promise<{ nvim: Nvim; cli: Cli }> {
  const { nvim } = await startBridge(t);
  const { tmp, workspace } = nvim.dirs;
  const outside = await startNvim(t, { cwd: workspace });
  const cli = await startCliInNvim(t, outside, {
    model: await startModel(t),
    cwd: workspace,
    env: { TMPDIR: tmp },
    settings: { ide: {} },
    shows: QUESTION,
  });
  return { nvim: outside, cli };
}

const userSettings = (nvim: Nvim) =>
  JSON.parse(readFileSync(join(nvim.dirs.home, ".gemini/settings.json"), "utf8"));

t.test('"Yes" fails', async (t) => {
  const { nvim, cli } = await start(t);
  await cli.press("\r");
  await cli.waitForScreen(/No installer is available for Neovim/);
  t.notOk(userSettings(nvim).ide?.enabled);
  t.match(await cli.slash("/ide status"), /Disconnected|disabled/);
});

t.test('"No", then /ide enable, once', async (t) => {
  const { nvim, cli } = await start(t);
  await cli.press("\x1b");
  await cli.waitForScreen(/Type your message/);
  t.notOk(userSettings(nvim).ide?.enabled);
  await cli.slash("/ide enable");
  await nvim.waitFor(
    async () => /Connected to Neovim/.test(await cli.slash("/ide status")),
    "the CLI to connect",
  );
  t.equal(userSettings(nvim).ide.enabled, true, "which is remembered");
});
