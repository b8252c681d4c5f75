/** Starts a Neovim in which the real Qwen Code can run. */
import { dirname, join } from "node:path";
import type { Test } from "tap";
import { SETTINGS } from "./cli.ts";
import { geminiEnv } from "./gemini.ts";
import { type Model, startModel } from "./model.ts";
import { type Nvim, type NvimOptions, root, startNvim } from "./nvim.ts";
import { type OpenAiModel, startOpenAiModel } from "./openai.ts";

/**
 * Settings that prevent questions and network requests at the start. The settings set neither an editor nor an approval
 * mode.
 */
const QWEN_SETTINGS = {
  $version: 4,
  security: { auth: { selectedType: "openai" }, folderTrust: { enabled: false } },
  ui: { enableFollowupSuggestions: false },
  memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false },
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
};

/** Starts a Neovim in which `qwen` and `gemini` run, each with its own scripted model. The proxy does not exist. */
export async function startWithQwen(
  t: Test,
  options: NvimOptions = {},
): Promise<{ nvim: Nvim; model: OpenAiModel; gemini: Model }> {
  const model = await startOpenAiModel(t);
  const gemini = await startModel(t);
  const env = geminiEnv(gemini);
  const nvim = await startNvim(t, {
    ...options,
    files: {
      "../home/.qwen/settings.json": JSON.stringify(QWEN_SETTINGS),
      "../home/.gemini/settings.json": JSON.stringify(SETTINGS),
      ...options.files,
    },
    env: {
      ...env,
      PATH: [join(root, ".qwen/node_modules/.bin"), dirname(process.execPath), env["PATH"]].join(":"),
      OPENAI_API_KEY: "any",
      OPENAI_BASE_URL: model.url,
      OPENAI_MODEL: "test",
      QWEN_CODE_NO_RELAUNCH: "true", // one Node process fewer
      ...options.env,
    },
  });
  return { nvim, model, gemini };
}
