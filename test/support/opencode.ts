import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Test } from "tap";
import { type AnthropicModel, startAnthropicModel } from "./anthropic.ts";
import { type Nvim, type NvimOptions, startNvim } from "./nvim.ts";

/** Starts a Neovim in which `opencode` uses a scripted model. */
export async function startWithOpencode(
  t: Test,
  options: NvimOptions = {},
): Promise<{ nvim: Nvim; model: AnthropicModel }> {
  const program = process.env["OPENCODE"];
  if (program === undefined) throw new Error("OPENCODE must name the program");
  const model = await startAnthropicModel(t);
  const config = {
    model: "anthropic/claude-sonnet-4-5",
    provider: { anthropic: { options: { baseURL: `${model.url}/v1`, apiKey: "any" } } },
    autoupdate: false,
    share: "disabled",
  };
  const nvim = await startNvim(t, {
    ...options,
    files: { "../home/.config/opencode/opencode.json": JSON.stringify(config), ...options.files },
    env: {
      PATH: [dirname(process.execPath), process.env["PATH"]].join(":"),
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      http_proxy: "http://127.0.0.1:9",
      no_proxy: "127.0.0.1",
      ...options.env,
    },
  });
  const bin = join(nvim.dirs.home, "bin");
  mkdirSync(bin);
  symlinkSync(program, join(bin, "opencode"));
  await nvim.lua(`vim.env.PATH = vim.env.HOME .. '/bin:' .. vim.env.PATH
    vim.env.XDG_CONFIG_HOME = vim.env.HOME .. '/.config'`);
  return { nvim, model };
}
