/** Edits that Neovim makes for a CLI: followed like those that the CLI makes itself, or reviewed before they are made. */

import type { ReviewOutcome } from "../base/review-outcome.ts";
import type { Agent, AgentEvent } from "../contract/hooks.ts";
import type { SessionInfo } from "../http/session.ts";

export interface Following {
  /** Takes what an agent does; see CONTRACT 3. */
  listener(event: AgentEvent): Promise<void>;
  /** Whether the user reviews every edit of this CLI's. */
  isGated(cli: string): boolean;
  /** Shows what this CLI would make of a file, and writes what the user accepts. */
  propose(cli: string, path: string, content: string): Promise<ReviewOutcome>;
}

/** How the edits of one client are made. */
export interface Editing {
  readonly isGated: boolean;
  /** Runs what changes these files, and has it count as the CLI's own doing: it is listed, kept and undone like that. */
  follow<T>(paths: readonly string[], act: () => Promise<T>): Promise<T>;
  /** @returns what the user has decided, as soon as they have. @throws {Refusal} when it cannot be shown */
  propose(path: string, content: string): Promise<ReviewOutcome>;
}

export function editsAs({ credential, id }: SessionInfo, { listener, isGated, propose }: Following): Editing {
  const agent: Agent = { cli: credential, session: `neovim ${id}`, cwd: "/" };
  return {
    get isGated() {
      return isGated(credential);
    },
    propose: (path, content) => propose(credential, path, content),
    async follow(paths, act) {
      const base = () => ({ agent, at: Date.now() });
      const tools = paths.map((filePath) => ({ kind: "edit" as const, name: "neovim", filePath }));
      for (const tool of tools) await listener({ ...base(), kind: "tool_starting", tool, canAsk: false });
      try {
        return await act();
      } finally {
        for (const tool of tools) await listener({ ...base(), kind: "tool_ended", tool, failed: false });
        await listener({ ...base(), kind: "turn_ended" });
      }
    },
  };
}
