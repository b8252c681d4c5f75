/**
 * CONTRACT 3: what hooks of the CLIs tell the bridge, whatever the CLI calls it.
 *
 * The names and shapes are those of Gemini CLI 0.61.0 (its docs, hooks/reference.md) and Qwen Code 0.24.4 (its docs,
 * features/hooks.md). Only what the bridge needs is read. The disk alone has the bytes of files: texts are for when
 * nobody has looked at it in time.
 */
import { resolve } from "node:path";
import * as z from "zod";

/** A CLI's own session, which its hooks name; not the session of its connection to the bridge. */
export interface Agent {
  /** The profile whose token the hook had. */
  readonly cli: string;
  readonly session: string;
  /** The CLI's working directory; absolute. */
  readonly cwd: string;
  /** The CLI's process, where its hooks know it. */
  readonly pid?: number | undefined;
}

/** What the agent uses; `name` is the CLI's own. */
export type Tool =
  /** Writes one file; `filePath` is absolute. */
  | { kind: "edit"; name: string; filePath: string }
  | { kind: "shell"; name: string; command: string }
  | { kind: "other"; name: string };

/** What an edit has made of a file, as the CLI shows it: without byte order mark, its line ends perhaps others. */
export interface EditTexts {
  /** null for no file. */
  before: string | null;
  after: string;
}

/** `at` is Unix milliseconds by the CLI's clock. */
export type AgentEvent = { agent: Agent; at: number } & (
  | { kind: "turn_started"; prompt: string }
  /**
   * The CLI waits for the hook: files are as they were before the tool. `canAsk`: it can be told to ask the user first,
   * with a proposal. Qwen Code 0.24.4 would ask in its terminal alone, or fail the tool where it cannot.
   */
  | { kind: "tool_starting"; tool: Tool; canAsk: boolean }
  | { kind: "tool_ended"; tool: Tool; failed: boolean; texts?: EditTexts | undefined }
  /** The CLI's own prompt is open. No hook tells how it was answered. */
  | { kind: "permission_asked"; tool: Tool }
  /** The CLI has started, or begins another chat. */
  | { kind: "session_started" }
  /** The answer is complete, or failed. */
  | { kind: "turn_ended" }
  /** The chat is over, for instance by `/clear`. The CLI may go on with another one, and tells it up to three times. */
  | { kind: "session_ended" }
);

const EDITS = ["write_file", "replace", "edit"];
const SHELL = "run_shell_command";

const Base = {
  session_id: z.string().min(1).max(256),
  cwd: z.string().startsWith("/"),
  timestamp: z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
};

/** The arguments of any tool; those of a server's may be anything. */
const Text = z.string().optional().catch(undefined);
const Use = {
  tool_name: z.string().min(1),
  tool_input: z.object({ file_path: Text, command: Text }),
};
const Outcome = { ...Use, tool_response: z.unknown().optional() };

/** Of an edit. The path is the one that was written, after links and the CLI's own corrections. */
const Edited = z.object({
  returnDisplay: z.object({
    filePath: z.string().startsWith("/"),
    originalContent: z.string().nullish().catch(undefined),
    newContent: Text,
    isNewFile: z.boolean().optional().catch(undefined),
  }),
});
const Failed = z.object({ error: z.unknown().refine((error) => error != null) });

const hook = <N extends string, S extends z.core.$ZodLooseShape>(name: N, shape: S) =>
  z.object({ hook_event_name: z.literal(name), ...Base, ...shape });

/** The events that the hooks are installed for, Gemini CLI's and then Qwen Code's. */
const HookInput = z.discriminatedUnion("hook_event_name", [
  hook("SessionStart", {}),
  hook("BeforeAgent", { prompt: z.string() }),
  hook("BeforeTool", Use),
  hook("AfterTool", Outcome),
  hook("Notification", {
    notification_type: z.string(),
    details: z.object({ type: Text, filePath: Text, command: Text, toolName: Text }).optional(),
  }),
  hook("AfterAgent", {}),
  hook("SessionEnd", {}),
  hook("UserPromptSubmit", { prompt: z.string(), submitted_prompt: z.string().optional() }),
  hook("PreToolUse", Use),
  hook("PostToolUse", Outcome),
  hook("PostToolUseFailure", Use),
  hook("PermissionRequest", Use),
  hook("Stop", {}),
  hook("StopFailure", {}),
]);
type HookInput = z.infer<typeof HookInput>;

/**
 * @param input the JSON that the CLI gave its hook
 * @param sender by whose token, and of which process, as far as known
 * @returns nothing for a notification that is no event of an agent's
 * @throws {z.ZodError} for anything else than the CLIs' own
 */
export function parseHook(input: unknown, sender: Pick<Agent, "cli" | "pid">): AgentEvent | undefined {
  const hook = HookInput.parse(input);
  const { session_id: session, cwd, timestamp: at } = hook;
  const event = meaningOf(hook);
  return event && { agent: { cli: sender.cli, session, cwd, pid: sender.pid }, at, ...event };
}

/** Omits from each of a union. */
type Each<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

function meaningOf(hook: HookInput): Each<AgentEvent, "agent" | "at"> | undefined {
  switch (hook.hook_event_name) {
    case "SessionStart":
      return { kind: "session_started" };
    case "BeforeAgent":
      return { kind: "turn_started", prompt: hook.prompt };
    case "UserPromptSubmit":
      // What tools have answered goes to the model in the same way, without a word of the user's.
      if (hook.prompt.trim() === "") return undefined;
      return { kind: "turn_started", prompt: hook.submitted_prompt ?? hook.prompt };
    case "BeforeTool":
    case "PreToolUse":
      return {
        kind: "tool_starting",
        tool: toolOf(hook),
        canAsk: hook.hook_event_name === "BeforeTool",
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
    case "AfterAgent":
    case "Stop":
    case "StopFailure":
      return { kind: "turn_ended" };
    case "SessionEnd":
      return { kind: "session_ended" };
  }
}

function noticeOf(
  hook: Extract<HookInput, { hook_event_name: "Notification" }>,
): Each<AgentEvent, "agent" | "at"> | undefined {
  // Qwen Code's prompt is empty again, also after Esc, which no other hook of it tells.
  if (hook.notification_type === "idle_prompt") return { kind: "turn_ended" };
  if (hook.notification_type !== "ToolPermission") return undefined;
  const { type = "other", filePath, command, toolName: name = type } = hook.details ?? {};
  if (filePath !== undefined)
    return { kind: "permission_asked", tool: { kind: "edit", name, filePath: resolve(hook.cwd, filePath) } };
  if (command !== undefined) return { kind: "permission_asked", tool: { kind: "shell", name, command } };
  return { kind: "permission_asked", tool: { kind: "other", name } };
}

function endOf(
  hook: ToolUse & { tool_response?: unknown },
  failed: boolean,
): Each<AgentEvent, "agent" | "at"> {
  const shown = Edited.safeParse(hook.tool_response).data?.returnDisplay;
  const tool = toolOf(hook, shown?.filePath);
  return { kind: "tool_ended", tool, failed, texts: shown && textsOf(shown) };
}

function textsOf({
  originalContent,
  newContent,
  isNewFile,
}: z.infer<typeof Edited>["returnDisplay"]): EditTexts | undefined {
  const before = isNewFile ? null : originalContent;
  return before === undefined || newContent === undefined ? undefined : { before, after: newContent };
}

type ToolUse = Extract<HookInput, { tool_name: string }>;

/** @param written the path that an edit has written, where it is known */
function toolOf({ cwd, tool_name: name, tool_input: input }: ToolUse, written?: string): Tool {
  if (EDITS.includes(name) && input.file_path !== undefined)
    return { kind: "edit", name, filePath: written ?? resolve(cwd, input.file_path) };
  if (name === SHELL && input.command !== undefined) return { kind: "shell", name, command: input.command };
  return { kind: "other", name };
}
