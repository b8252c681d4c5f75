/** The gate: while it is on, a CLI asks before each edit, so that all of them come as reviews. */

import type { AgentEvent } from "../contract/hooks.ts";
import type { EventPayload } from "../contract/neovim.ts";

/**
 * Whether a CLI is to ask before a tool. Only for edits of a CLI that is connected here with an open stream: any other
 * would wait for an answer that nobody can give.
 */
export async function asksBefore(
  event: AgentEvent,
  setting: EventPayload<"gate">,
  isConnected: () => Promise<boolean>,
): Promise<boolean> {
  if (event.kind !== "tool_starting" || !event.canAsk || event.tool.kind !== "edit") return false;
  return isGated(event.agent.cli, setting) && isConnected();
}

/** Whether a CLI's edits are all to be reviewed. */
export function isGated(cli: string, { clis, all }: EventPayload<"gate">): boolean {
  return clis[cli] ?? all;
}
