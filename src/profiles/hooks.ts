/** Builds the hooks for the settings of CLIs. All hooks run the same script, which does nothing outside Neovim. */
import type { RawSettings } from "./settings.ts";

/** Timeout of a hook (ms). The script itself stops earlier. */
const TIMEOUT_MS = 5_000;

/** Tools that write files. Before the CLI runs such a tool, its hook lets the bridge read the files. */
const WRITING_TOOLS = "^(write_file|replace|edit|notebook_edit|run_shell_command)$";

/** Tools for which the CLI may ask the user. Read-only tools are not in the list, because a hook would delay them. */
const ASKING_TOOLS = "^(write_file|replace|edit|notebook_edit|run_shell_command|web_fetch|mcp_.*)$";

/**
 * Events for which the CLI waits for the bridge's answer. The hooks of all other events get the argument `notice`, and
 * do not wait.
 */
const BLOCKING_EVENTS = ["BeforeAgent", "BeforeTool", "UserPromptSubmit", "PreToolUse"];

/** Events of Gemini CLI, with their tool patterns. */
const GEMINI = {
  SessionStart: undefined,
  BeforeAgent: undefined,
  BeforeTool: WRITING_TOOLS,
  AfterTool: ASKING_TOOLS,
  Notification: undefined,
  AfterAgent: undefined,
  SessionEnd: undefined,
};

const QWEN = {
  SessionStart: undefined,
  UserPromptSubmit: undefined,
  PreToolUse: WRITING_TOOLS,
  PermissionRequest: undefined,
  PostToolUse: ASKING_TOOLS,
  PostToolUseFailure: ASKING_TOOLS,
  Notification: "idle_prompt",
  Stop: undefined,
  StopFailure: undefined,
  SessionEnd: undefined,
};

/**
 * Tools with a hook before each call. MCP tools are not in the list, because Claude Code waits for every hook. The
 * server `neovim` sees calls of its own tools without hooks.
 */
const CLAUDE_TOOLS = "Edit|MultiEdit|Write|NotebookEdit|Bash";
const CLAUDE = {
  SessionStart: undefined,
  UserPromptSubmit: undefined,
  PreToolUse: CLAUDE_TOOLS,
  PermissionRequest: undefined,
  PostToolUse: undefined,
  PostToolUseFailure: undefined,
  Stop: undefined,
  StopFailure: undefined,
  SessionEnd: undefined,
};

/**
 * Builds the hooks of Gemini CLI.
 * @param script path of extension/hooks/hook.sh, quoted for bash
 */
export const geminiHooks = (script: string): RawSettings => settings(GEMINI, script, "GEMINI_CLI_IDE");

/**
 * Builds the hooks of Qwen Code.
 * @param script path of extension/hooks/hook.sh, quoted for bash
 */
export const qwenHooks = (script: string): RawSettings => settings(QWEN, script, "QWEN_CODE_IDE");

/**
 * Builds the hooks of Claude Code. Its timeouts are in seconds. The user's shell starts the hooks. `exec bash` replaces
 * this shell, so that the CLI is the parent process of the script.
 * @param prefix first part of the names of the variables with port and token
 */
export function claudeHooks(script: string, prefix: string): RawSettings {
  const entries = Object.entries(CLAUDE).map(([event, matcher]) => {
    const command = `exec bash ${script} ${prefix}${BLOCKING_EVENTS.includes(event) ? "" : " notice"} 2>/dev/null`;
    const hooks = [{ type: "command", command, timeout: TIMEOUT_MS / 1000 }];
    return [event, [{ ...(matcher !== undefined && { matcher }), hooks }]];
  });
  return { hooks: Object.fromEntries(entries) };
}

/** Quotes a path for bash. */
export function quoted(path: string): string {
  return `'${path.replaceAll("'", `'\\''`)}'`;
}

function settings(events: Record<string, string | undefined>, script: string, prefix: string): RawSettings {
  // Discards error messages of bash. If the script is missing, the CLI would show such a message for each event.
  const entries = Object.entries(events).map(([event, matcher]) => {
    const command = `. ${script} ${prefix}${BLOCKING_EVENTS.includes(event) ? "" : " notice"} 2>/dev/null || :`;
    const hooks = [{ type: "command", name: "neovim", command, timeout: TIMEOUT_MS }];
    return [event, [{ ...(matcher !== undefined && { matcher }), hooks }]];
  });
  return { hooks: Object.fromEntries(entries) };
}
