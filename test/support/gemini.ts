/** Starts a Neovim in which the real Gemini CLI can run. */
import { delimiter, dirname, join } from "node:path";
import { z } from "zod";
import { Cli, SETTINGS } from "./cli.ts";
import { type Model, startModel } from "./model.ts";
import { type Nvim, type NvimOptions, root, startNvim } from "./nvim.ts";
import type { Scope } from "./scope.ts";

/** Starts a Neovim in which `gemini` runs with user settings only. The proxy does not exist. */
export async function startWithGemini(
  t: Scope,
  options: NvimOptions = {},
): Promise<{ nvim: Nvim; model: Model }> {
  const model = await startModel(t);
  const nvim = await startNvim(t, {
    ...options,
    files: { "../home/.gemini/settings.json": JSON.stringify(SETTINGS), ...options.files },
    env: { ...geminiEnv(model), ...options.env },
  });
  return { nvim, model };
}

/** Returns the variables with which `gemini` uses a scripted model. */
export function geminiEnv(model: Model): Record<string, string> {
  return {
    PATH: [join(root, "node_modules/.bin"), dirname(process.execPath), process.env["PATH"]].join(delimiter),
    GEMINI_API_KEY: "any",
    GOOGLE_GEMINI_BASE_URL: model.url,
    GEMINI_CLI_NO_RELAUNCH: "true", // one Node process fewer; not set in test/outside/cli-in-terminal.test.ts
    http_proxy: "http://127.0.0.1:9",
  };
}

const Terminal = z.object({ win: z.int(), buf: z.int(), job: z.int(), shell: z.int(), height: z.int() });

/** Returns the CLI that runs in the last used terminal of `:Gemini`. */
export async function geminiIn(nvim: Nvim): Promise<Cli> {
  const terminal = `(function()
    local terminal = require('gemini-bridge.terminal.terminals').last()
    if not (terminal and terminal.buf) then return end
    local win = vim.fn.win_findbuf(terminal.buf)[1]
    return {
      win = win, buf = terminal.buf, job = vim.bo[terminal.buf].channel, shell = terminal.pid,
      height = vim.api.nvim_win_get_height(win),
    }
  end)()`;
  return new Cli(nvim, Terminal.parse(await nvim.waitFor(terminal, "the terminal")));
}
