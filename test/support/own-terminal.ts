import { delimiter, dirname, join } from "node:path";
import type { Test } from "tap";
import { z } from "zod";
import { Cli } from "./cli.ts";
import { type Model, startModel } from "./model.ts";
import { type Nvim, root, startNvim } from "./nvim.ts";

const SETTINGS = {
  security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
  ide: { enabled: true, hasSeenNudge: true },
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
};

export interface OwnTerminalOptions {
  /** Of the CLI's own settings, the group `ui`. */
  ui?: Readonly<Record<string, unknown>>;
  /** Lua for the end of init.lua. */
  init?: string;
  files?: Readonly<Record<string, string>>;
}

/** A Neovim in which `:Gemini` runs the real CLI, its model played by the test; the proxy leads nowhere. */
export async function startWithGemini(
  t: Test,
  options: OwnTerminalOptions = {},
): Promise<{ nvim: Nvim; model: Model }> {
  const model = await startModel(t);
  const nvim = await startNvim(t, {
    init: options.init ?? "",
    files: {
      "../home/.gemini/settings.json": JSON.stringify({ ...SETTINGS, ui: options.ui ?? {} }),
      "greet.js": "const greeting = 'Hello';\nconsole.log(greeting);\n",
      ...options.files,
    },
    env: {
      PATH: [join(root, "node_modules/.bin"), dirname(process.execPath), process.env["PATH"]].join(delimiter),
      GEMINI_API_KEY: "any",
      GOOGLE_GEMINI_BASE_URL: model.url,
      http_proxy: "http://127.0.0.1:9",
    },
  });
  return { nvim, model };
}

const Terminal = z.object({ win: z.int(), buf: z.int(), job: z.int(), shell: z.int(), height: z.int() });

/** The CLI in the terminal of `:Gemini`. */
export async function ownCli(nvim: Nvim): Promise<Cli> {
  const terminal = `(function()
    local terminal = require('gemini-bridge.terminal.terminals').last()
    if not (terminal and terminal.buf) then return end
    local win = vim.fn.win_findbuf(terminal.buf)[1]
    return {
      win = win, buf = terminal.buf, job = vim.bo[terminal.buf].channel, shell = terminal.pid,
      height = vim.api.nvim_win_get_height(win),
    }
  end)()`;
  return new Cli(nvim, Terminal.parse(await nvim.waitFor(terminal, "the terminal", 10_000)));
}
