/**
 * Decides whether a CLI must ask the user before an edit ("the gate"). Defines the hook answers that make a CLI ask.
 */
import type { AgentEvent } from "../contract/hooks.ts";
import type { EventPayload } from "../contract/neovim.ts";

/** Hook answers that make a CLI ask the user, in every approval mode. */
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
 * Returns whether a CLI must ask the user before it runs a tool. True only for edits of connected CLIs, because the
 * user cannot answer other CLIs in Neovim.
 */
export async function asksBefore(
  event: AgentEvent,
  setting: EventPayload<"gate">,
  isConnected: () => Promise<boolean>,
): Promise<boolean> {
  if (event.kind !== "tool_starting" || !event.canAsk || event.tool.kind !== "edit") return false;
  return isGated(event.agent.cli, setting) && isConnected();
}

/** Returns whether a CLI must ask before every edit (:GeminiGate). */
export function isGated(cli: string, { clis, all }: EventPayload<"gate">): boolean {
  return clis[cli] ?? all;
}
