/** The hooks as the CLIs' settings have them. All run one command, which is silent outside of Neovim. */
import type { RawSettings } from "./system-defaults.ts";

/** A hook that takes longer is ended by the CLI; the command itself gives up before (milliseconds). */
const TIMEOUT = 5_000;

/** Before these the CLI waits until the bridge has seen the files as they are. */
const WRITES = "^(write_file|replace|edit|run_shell_command)$";

/** These may have asked the user before; what only reads is not delayed. */
const ASKED = "^(write_file|replace|edit|run_shell_command|web_fetch|mcp_.*)$";

/** Before these the CLI waits for the answer; it goes on after all others. */
const ANSWERED = ["BeforeTool", "PreToolUse"];

/** By event, with what narrows it. */
const GEMINI = {
  SessionStart: undefined,
  BeforeAgent: undefined,
  BeforeTool: WRITES,
  AfterTool: ASKED,
  Notification: undefined,
  AfterAgent: undefined,
  SessionEnd: undefined,
};

const QWEN = {
  SessionStart: undefined,
  UserPromptSubmit: undefined,
  PreToolUse: WRITES,
  PermissionRequest: undefined,
  PostToolUse: ASKED,
  PostToolUseFailure: ASKED,
  Notification: "idle_prompt",
  Stop: undefined,
  StopFailure: undefined,
  SessionEnd: undefined,
};

/** @param script the path of extension/hooks/hook.sh, as a word of bash's */
export const geminiHooks = (script: string): RawSettings => settings(GEMINI, script, "GEMINI_CLI_IDE");

/** @param script as for Gemini CLI */
export const qwenHooks = (script: string): RawSettings => settings(QWEN, script, "QWEN_CODE_IDE");

/** @returns a word of bash's */
export function quoted(path: string): string {
  return `'${path.replaceAll("'", `'\\''`)}'`;
}

function settings(events: Record<string, string | undefined>, script: string, prefix: string): RawSettings {
  // A script that is gone prints that it is, and what a hook prints the CLI shows.
  const entries = Object.entries(events).map(([event, matcher]) => {
    const command = `. ${script} ${prefix}${ANSWERED.includes(event) ? "" : " notice"} 2>/dev/null || :`;
    const hooks = [{ type: "command", name: "neovim", command, timeout: TIMEOUT }];
    return [event, [{ ...(matcher !== undefined && { matcher }), hooks }]];
  });
  return { hooks: Object.fromEntries(entries) };
}
