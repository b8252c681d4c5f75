/** Decides whether the gate makes a CLI ask before an edit, and what the CLI's hook is answered then. */
import type { AgentEvent } from "../contract/hooks.ts";
import type { EventPayload } from "../contract/neovim.ts";

/** How a CLI understands that it must ask the user, whatever its approval mode. */
export const ASK = {
  decision: { decision: "ask" },
  permission: {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: "ask",
      permissionDecisionReason: "Every edit is reviewed in Neovim (:GeminiGate).",
    },
  },
} as const;

/**
 * Whether a CLI must ask before a tool. Only for edits of a CLI with an open event stream: any other CLI would wait for
 * an answer that nobody can give.
 */
export async function asksBefore(
  event: AgentEvent,
  setting: EventPayload<"gate">,
  isConnected: () => Promise<boolean>,
): Promise<boolean> {
  if (event.kind !== "tool_starting" || !event.canAsk || event.tool.kind !== "edit") return false;
  return isGated(event.agent.cli, setting) && isConnected();
}

/** Whether the gate is on for a CLI. */
export function isGated(cli: string, { clis, all }: EventPayload<"gate">): boolean {
  return clis[cli] ?? all;
}
