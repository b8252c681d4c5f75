/**
 * CONTRACT 3: converts the hook input of all CLIs to common events.
 *
 * The input is that of Gemini CLI 0.61.0 (its docs, hooks/reference.md), Qwen Code 0.24.4 (its docs, features/hooks.md)
 * and Claude Code 2.1.330. Only the needed fields are parsed. The host reads the bytes of files from the disk.
 */
import { resolve } from "node:path";
import * as z from "zod";
import { MAX_PATH_LENGTH } from "./companion.ts";

/** An agent, identified by the CLI's own session id. The connection to the bridge has a different id. */
export interface Agent {
  /** Name of the profile whose token the hook used. */
  readonly cli: string;
  readonly session: string;
  /** Working directory of the CLI; absolute. */
  readonly cwd: string;
  /** Process id of the CLI, if the hook knows it. */
  readonly pid?: number | undefined;
}

/** A tool that the agent uses. `name` is the CLI's name for the tool. */
export type Tool =
  /** A tool that writes one file; `filePath` is absolute. */
  | { kind: "edit"; name: string; filePath: string }
  | { kind: "shell"; name: string; command: string }
  | { kind: "other"; name: string };

/** The part of an event that depends on the kind of the event. */
type EventDetails =
  /**
   * The user has sent a prompt. The CLI waits for the hook, and adds the hook's answer to the prompt. The answer must
   * contain the hook's name (`hook`). `turn`: id of the turn, if the CLI sends one. A prompt that the user has sent
   * during a turn has the id of this turn. `isOwn`: true if the CLI itself has sent the prompt, because a task in the
   * background has ended. Such a prompt belongs to the running turn, if there is one.
   */
  | {
      kind: "turn_started";
      prompt: string;
      hook: "BeforeAgent" | "UserPromptSubmit";
      turn?: string | undefined;
      isOwn?: boolean;
    }
  /**
   * A tool is about to run, and the CLI waits for the hook. `canAsk`: whether the hook can make the CLI open a proposal
   * in the editor. False for Qwen Code 0.24.4, which would ask only in its terminal, or would report a failure of the
   * tool.
   */
  | { kind: "tool_starting"; tool: Tool; canAsk: boolean }
  | { kind: "tool_ended"; tool: Tool; failed: boolean }
  /** The CLI asks the user in its terminal. No hook reports the answer. */
  | { kind: "permission_asked"; tool: Tool }
  /** The CLI has started, or starts another chat. */
  | { kind: "session_started" }
  /** The agent's answer is complete or has failed. */
  | { kind: "turn_ended" }
  /**
   * The chat has ended, for example by `/clear`. The CLI may start another chat. The same end may be reported up to
   * three times.
   */
  | { kind: "session_ended" };

/** An event of an agent. `at`: time by the CLI's clock (Unix milliseconds). */
export type AgentEvent = EventDetails & { agent: Agent; at: number };

/**
 * Tells whether the CLI has stopped waiting before a tool. From then on, the tool may be running. Not an `AbortSignal`,
 * because aborting one creates an error with a stack trace, and every edit of an agent needs one.
 */
export interface Begun {
  readonly aborted: boolean;
}

const EDITS = [
  "write_file",
  "replace",
  "edit",
  "notebook_edit",
  "Edit",
  "MultiEdit",
  "Write",
  "NotebookEdit",
];
const SHELLS = ["run_shell_command", "Bash"];

/**
 * Finds the summary in the prompt that Claude Code itself sends when a task in the background has ended. Uses no
 * pattern: on a prompt with many tags, a pattern would try all pairs of tags.
 */
function endedTask(prompt: string): string | undefined {
  const [open, close] = ["<summary>", "</summary>"];
  const start = prompt.lastIndexOf(open, prompt.lastIndexOf(close));
  if (start < 0 || !prompt.startsWith("<task-notification>")) return undefined;
  const from = start + open.length;
  const to = prompt.indexOf(close, from);
  return to < 0 ? undefined : prompt.slice(from, to);
}

const Base = {
  session_id: z.string().min(1).max(256),
  cwd: z.string().startsWith("/").max(MAX_PATH_LENGTH),
  // Time of the event. Claude Code sends none.
  timestamp: z.iso
    .datetime({ offset: true })
    .transform((text) => Date.parse(text))
    .default(() => Date.now()),
};

/**
 * Accepts a text argument of a tool. Any other type becomes undefined: a tool of an MCP server may have an argument
 * with the same name and another type.
 */
const Text = z.string().optional().catch(undefined);
/** Accepts a path or a name like {@link Text}. A longer path cannot exist, and the host would store it. */
const Name = z.string().max(MAX_PATH_LENGTH).optional().catch(undefined);
const Use = {
  tool_name: z.string().min(1).max(MAX_PATH_LENGTH),
  tool_input: z.object({ file_path: Name, notebook_path: Name, command: Text }),
};
const Outcome = { ...Use, tool_response: z.unknown().optional() };

/**
 * Result of an edit. `filePath` is the path that the CLI has really written: links are resolved, and the CLI may have
 * corrected the path.
 */
const Edited = z.object({
  returnDisplay: z.object({
    filePath: z.string().startsWith("/").max(MAX_PATH_LENGTH),
  }),
});
const Failed = z.object({ error: z.unknown().refine((error) => error != null) });

const hook = <N extends string, S extends z.core.$ZodLooseShape>(name: N, shape: S) =>
  z.object({ hook_event_name: z.literal(name), ...Base, ...shape });

/** Input of all installed hooks: first the hooks of Gemini CLI, then those of Qwen Code and Claude Code. */
const HookInput = z.discriminatedUnion("hook_event_name", [
  hook("SessionStart", {}),
  hook("BeforeAgent", { prompt: z.string() }),
  hook("BeforeTool", Use),
  hook("AfterTool", Outcome),
  hook("Notification", {
    notification_type: z.string(),
    details: z.object({ type: Name, filePath: Name, command: Text, toolName: Name }).optional(),
  }),
  hook("AfterAgent", {}),
  hook("SessionEnd", {}),
  hook("UserPromptSubmit", { prompt: z.string(), submitted_prompt: z.string().optional(), prompt_id: Name }),
  hook("PreToolUse", Use),
  hook("PostToolUse", Outcome),
  hook("PostToolUseFailure", Use),
  hook("PermissionRequest", Use),
  hook("Stop", { background_tasks: z.array(z.object({ type: Name, status: Name })).catch([]) }),
  hook("StopFailure", {}),
]);
type HookInput = z.infer<typeof HookInput>;

/**
 * Parses the input of a hook.
 * @param input the JSON that the CLI gave to the hook
 * @param sender profile of the token, process id if known, and whether a `PreToolUse` hook can make the CLI ask
 * @returns undefined for a notification that is not an event of an agent
 * @throws {z.ZodError} for invalid input
 */
export function parseHook(
  input: unknown,
  sender: Pick<Agent, "cli" | "pid"> & { canAsk?: boolean },
): AgentEvent | undefined {
  const hook = HookInput.parse(input);
  const { session_id: session, cwd, timestamp: at } = hook;
  const event = meaningOf(hook, sender.canAsk ?? false);
  return event && { agent: { cli: sender.cli, session, cwd, pid: sender.pid }, at, ...event };
}

function meaningOf(hook: HookInput, canAsk: boolean): EventDetails | undefined {
  switch (hook.hook_event_name) {
    case "SessionStart":
      return { kind: "session_started" };
    case "BeforeAgent":
      return { kind: "turn_started", prompt: hook.prompt, hook: hook.hook_event_name };
    case "UserPromptSubmit": {
      const summary = endedTask(hook.prompt);
      // Ignores an empty prompt: Qwen Code also runs this hook when it sends results of tools to the model.
      if (hook.prompt.trim() === "") return undefined;
      return {
        kind: "turn_started",
        prompt: summary ?? hook.submitted_prompt ?? hook.prompt,
        hook: hook.hook_event_name,
        turn: hook.prompt_id,
        isOwn: summary !== undefined,
      };
    }
    case "BeforeTool":
    case "PreToolUse":
      return {
        kind: "tool_starting",
        tool: toolOf(hook),
        canAsk: canAsk || hook.hook_event_name === "BeforeTool",
      };
    case "AfterTool":
      return endOf(hook, Failed.safeParse(hook.tool_response).success);
    case "PostToolUse":
      return endOf(hook, false);
    case "PostToolUseFailure":
      return { kind: "tool_ended", tool: toolOf(hook), failed: true };
    case "PermissionRequest":
      return { kind: "permission_asked", tool: toolOf(hook) };
    case "Notification":
      return noticeOf(hook);
    case "Stop":
      // Subagents go on in the background. The CLI sends a prompt of its own when they have ended.
      if (hook.background_tasks.some(({ type, status }) => type === "subagent" && status === "running"))
        return undefined;
      return { kind: "turn_ended" };
    case "AfterAgent":
    case "StopFailure":
      return { kind: "turn_ended" };
    case "SessionEnd":
      return { kind: "session_ended" };
  }
}

function noticeOf(hook: Extract<HookInput, { hook_event_name: "Notification" }>): EventDetails | undefined {
  // Qwen Code waits for the next prompt. If the user has pressed Esc, no other hook reports the end of the turn.
  if (hook.notification_type === "idle_prompt") return { kind: "turn_ended" };
  if (hook.notification_type !== "ToolPermission") return undefined;
  const { type = "other", filePath, command, toolName: name = type } = hook.details ?? {};
  if (filePath !== undefined)
    return { kind: "permission_asked", tool: { kind: "edit", name, filePath: resolve(hook.cwd, filePath) } };
  if (command !== undefined) return { kind: "permission_asked", tool: { kind: "shell", name, command } };
  return { kind: "permission_asked", tool: { kind: "other", name } };
}

function endOf(hook: ToolUse & { tool_response?: unknown }, failed: boolean): EventDetails {
  const shown = Edited.safeParse(hook.tool_response).data?.returnDisplay;
  return { kind: "tool_ended", tool: toolOf(hook, shown?.filePath), failed };
}

type ToolUse = Extract<HookInput, { tool_name: string }>;

/**
 * Converts the use of a tool.
 * @param written the path that an edit has written, if known
 */
function toolOf({ cwd, tool_name: name, tool_input: input }: ToolUse, written?: string): Tool {
  const path = input.file_path ?? input.notebook_path;
  if (EDITS.includes(name) && path !== undefined)
    return { kind: "edit", name, filePath: written ?? resolve(cwd, path) };
  if (SHELLS.includes(name) && input.command !== undefined)
    return { kind: "shell", name, command: input.command };
  return { kind: "other", name };
}
