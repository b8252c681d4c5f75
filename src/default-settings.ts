/** What the CLIs in Neovim's terminals are set to where nobody has said otherwise. */
import { geminiHooks, quoted, qwenHooks } from "./agent/hooks.ts";
import type { Profile } from "./ide/profiles.ts";
import type { RawSettings } from "./ide/system-defaults.ts";

/** Connects a CLI as soon as it starts, and answers its question whether it should. */
const CONNECT: RawSettings = { ide: { enabled: true, hasSeenNudge: true } };

/** @param hookScript the path of extension/hooks/hook.sh */
export function defaultSettings({ like }: Pick<Profile, "like">, hookScript: string): RawSettings[] {
  const hooks = { gemini: geminiHooks, qwen: qwenHooks, llxprt: () => ({}) }[like];
  return [CONNECT, hooks(quoted(hookScript))];
}
