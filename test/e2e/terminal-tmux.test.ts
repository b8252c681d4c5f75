import { join } from "node:path";
import t, { type Test } from "tap";
import { startWithGemini } from "../support/gemini.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";
import { enterTmux, startTmux, type Tmux } from "../support/tmux.ts";
import { waitFor } from "../support/wait.ts";

const SETUP = `
local env = { GEMINI_API_KEY = vim.env.GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL = vim.env.GOOGLE_GEMINI_BASE_URL }
require('gemini-bridge').setup({ terminal = { provider = 'tmux', env = env } })`;

const clients = async (nvim: Nvim) =>
  Number(await nvim.lua("return #require('gemini-bridge').status().clients"));

/**
 * Starts a second Neovim in the same directory. Its process id is larger, so that a CLI in another terminal chooses it.
 */
async function startBeside(t: Test, nvim: Nvim, init = ""): Promise<Nvim> {
  const beside = await startNvim(t, {
    cwd: nvim.dirs.workspace,
    env: { TMPDIR: nvim.dirs.tmp },
    init,
    tui: true,
  });
  await beside.command("GeminiStart");
  await beside.waitFor("require('gemini-bridge').status().state == 'running'", "the bridge", 10_000);
  return beside;
}

async function shows(tmux: Tmux, pane: string, pattern: RegExp): Promise<void> {
  await waitFor(() => pattern.test(tmux("capture-pane", "-p", "-t", pane)), `${pattern}`, 30_000);
}

t.test("the real CLI in a pane of tmux belongs to the Neovim that opened it, and to the next", async (t) => {
  const { nvim } = await startWithGemini(t, { init: SETUP });
  const tmux = await startTmux(t, nvim, nvim.dirs.workspace);
  const own = tmux("display-message", "-p", "#{pane_id}");
  const rival = await startBeside(t, nvim);
  await nvim.command("Gemini");
  const pane = String(
    await nvim.waitFor("(require('gemini-bridge.terminal.terminals').last() or {}).pane", "the pane", 10_000),
  );
  await shows(tmux, pane, /Type your message/);
  await nvim.waitFor(async () => (await clients(nvim)) === 1, "the CLI to connect", 20_000);
  t.equal(await clients(rival), 0, "another Neovim in this directory does not get it");
  await rival.close();

  nvim.kill();
  await nvim.exited;
  const next = await startBeside(t, nvim, SETUP);
  await enterTmux(next, join(nvim.dirs.base, "tmux"), own);
  await next.command("Gemini");
  t.equal(tmux("display-message", "-p", "#{pane_id}"), pane, "the next Neovim goes to the pane");
  await shows(tmux, pane, /Type your message/);
  tmux("send-keys", "-t", pane, "-l", "/ide enable");
  await shows(tmux, pane, /> \/ide enable[\s\S]*enable/);
  tmux("send-keys", "-t", pane, "End", "Enter");
  const connects = next.waitFor(async () => (await clients(next)) === 1, "the CLI to connect again", 20_000);
  await t.resolves(
    connects.catch((cause) => {
      throw new Error(tmux("capture-pane", "-p", "-t", pane), { cause });
    }),
    "and the CLI connects to it, as it was told",
  );
});
