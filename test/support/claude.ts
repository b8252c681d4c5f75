import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Test } from "tap";
import { type AnthropicModel, startAnthropicModel } from "./anthropic.ts";
import { type Nvim, type NvimOptions, startNvim } from "./nvim.ts";

const KEY = "sk-ant-a-key-for-the-scripted-model";

/** Starts a Neovim in which `claude` uses a scripted model and asks nothing at its start. */
export async function startWithClaude(
  t: Test,
  options: NvimOptions = {},
): Promise<{ nvim: Nvim; model: AnthropicModel }> {
  const model = await startAnthropicModel(t);
  const nvim = await startNvim(t, {
    ...options,
    init: `local config = {
        hasCompletedOnboarding = true,
        bypassPermissionsModeAccepted = true,
        customApiKeyResponses = { approved = { '${KEY.slice(-20)}' }, rejected = vim.empty_dict() },
        projects = { [vim.uv.fs_realpath(vim.uv.cwd())] = { hasTrustDialogAccepted = true } },
      }
      config.customApiKeyResponses.rejected = {}
      local text = vim.json.encode(config):gsub('"rejected":{}', '"rejected":[]')
      vim.fn.writefile({ text }, vim.env.HOME .. '/.claude.json')
      ${options.init ?? ""}`,
    env: {
      PATH: [join(dirname(process.execPath)), process.env["PATH"]].join(":"),
      ANTHROPIC_API_KEY: KEY,
      ANTHROPIC_BASE_URL: model.url,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL: "1",
      DISABLE_AUTOUPDATER: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_ERROR_REPORTING: "1",
      http_proxy: "http://127.0.0.1:9",
      no_proxy: "127.0.0.1", // otherwise the CLI sends requests for the model to the proxy
      ...options.env,
    },
  });
  const program = process.env["CLAUDE_CODE"];
  if (program === undefined) throw new Error("CLAUDE_CODE must name the program");
  const bin = join(nvim.dirs.home, "bin");
  mkdirSync(bin);
  symlinkSync(program, join(bin, "claude"));
  await nvim.lua("vim.env.PATH = vim.env.HOME .. '/bin:' .. vim.env.PATH");
  return { nvim, model };
}
