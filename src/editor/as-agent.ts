/** Edits that Neovim makes for a CLI are followed like those that the CLI makes itself. */
import type { Agent, AgentEvent } from "../agent/events.ts";
import type { SessionInfo } from "../http/session.ts";
import { Refusal } from "../refusal.ts";
import type { Scene } from "./tool.ts";

export interface Following {
  /** Takes what an agent does; see CONTRACT 3. */
  listener(event: AgentEvent): Promise<void>;
  /** Whether the user reviews every edit of this CLI's. */
  isGated(cli: string): boolean;
}

export function editsAs({ credential, id }: SessionInfo, { listener, isGated }: Following): Scene["edit"] {
  const agent: Agent = { cli: credential, session: `neovim ${id}`, cwd: "/" };
  return async (paths, act) => {
    if (isGated(credential))
      throw new Refusal("The user reviews every edit (:GeminiGate): make this one with your own tools");
    const base = () => ({ agent, at: Date.now() });
    const tools = paths.map((filePath) => ({ kind: "edit" as const, name: "neovim", filePath }));
    for (const tool of tools) await listener({ ...base(), kind: "tool_starting", tool, canAsk: false });
    try {
      return await act();
    } finally {
      for (const tool of tools) await listener({ ...base(), kind: "tool_ended", tool, failed: false });
      await listener({ ...base(), kind: "turn_ended" });
    }
  };
}
