import { dirname, join } from "node:path";
import type { Test } from "tap";
import { SETTINGS } from "./cli.ts";
import { geminiEnv } from "./gemini.ts";
import { type Model, startModel } from "./model.ts";
import { type Nvim, type NvimOptions, root, startNvim } from "./nvim.ts";
import { type OpenAiModel, startOpenAiModel } from "./openai.ts";

/** Nothing is asked or phoned at start-up; of the editor and of how it asks for leave nothing is said. */
const QWEN_SETTINGS = {
  $version: 4,
  security: { auth: { selectedType: "openai" }, folderTrust: { enabled: false } },
  ui: { enableFollowupSuggestions: false },
  memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false },
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
};

/** A Neovim in which `qwen` and `gemini` can be run, each with a model of its own; the proxy leads nowhere. */
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
      ...options.env,
    },
  });
  return { nvim, model, gemini };
}
