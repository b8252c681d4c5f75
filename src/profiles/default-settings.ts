/** What the CLIs in Neovim's terminals are set to where nobody has said otherwise. */
import { dirname } from "node:path";
import { findProgram } from "../system/program.ts";
import { geminiHooks, quoted, qwenHooks } from "./hooks.ts";
import { editorSettings } from "./model-settings.ts";
import type { Profile } from "./profiles.ts";
import type { RawSettings } from "./system-defaults.ts";

/** Connects a CLI as soon as it starts, and answers its question whether it should. */
const CONNECT: RawSettings = { ide: { enabled: true, hasSeenNudge: true } };

/**
 * @param hookScript the path of extension/hooks/hook.sh
 * @param trust whether the model's tools that only read are to be called without a question
 */
export function defaultSettings(
  profile: Pick<Profile, "like" | "env">,
  hookScript: string,
  trust: boolean,
): RawSettings[] {
  const hooks = { gemini: geminiHooks, qwen: qwenHooks, llxprt: () => ({}) }[profile.like];
  const extension = dirname(dirname(hookScript));
  // The CLIs run hooks in bash, and complain of each that fails.
  const parts = findProgram("bash", process.env) ? [hooks(quoted(hookScript))] : [];
  return [CONNECT, ...parts, editorSettings(profile, extension, trust)];
}
