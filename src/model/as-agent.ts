/** Edits that Neovim makes for a CLI: followed like those that the CLI makes itself, or reviewed before they are made. */

import type { ReviewOutcome } from "../base/review-outcome.ts";
import type { Agent, AgentEvent } from "../contract/hooks.ts";
import type { SessionInfo } from "../http/session.ts";
import { realPath } from "../system/sighting.ts";
import type { UserFiles } from "../system/user-files.ts";

export interface Following {
  /** Takes what an agent does; see CONTRACT 3. */
  listener(event: AgentEvent): Promise<void>;
  /** Whether the user reviews every edit of this CLI's. */
  isGated(cli: string): boolean;
  /** Shows what this CLI would make of a file, and writes what the user accepts. The signal closes the review. */
  propose(cli: string, path: string, content: string, signal: AbortSignal): Promise<ReviewOutcome>;
  readonly userFiles: UserFiles;
}

/** How the edits of one client are made. */
export interface Editing {
  readonly isGated: boolean;
  /** Runs what changes these files, and has it count as the CLI's own doing: it is listed, kept and undone like that. */
  follow<T>(paths: readonly string[], act: () => Promise<T>): Promise<T>;
  /** Writes a file, among those that are followed. @throws {Refusal} when it does not hold the bytes from before */
  write(path: string, before: Buffer, after: Buffer): Promise<void>;
  /** @returns what the user has decided, as soon as they have. @throws {Refusal} when it cannot be shown */
  propose(path: string, content: string): Promise<ReviewOutcome>;
}

let calls = 0;

/** Each call is an agent of its own: what one ends, another one may just have begun. */
export function editsAs({ credential, id }: SessionInfo, following: Following, signal: AbortSignal): Editing {
  const { listener, isGated, propose, userFiles } = following;
  calls += 1;
  const agent: Agent = { cli: credential, session: `neovim ${id} ${calls}`, cwd: "/" };
  return {
    get isGated() {
      return isGated(credential);
    },
    propose: (path, content) => propose(credential, path, content, signal),
    async write(path, before, after) {
      const expected = { kind: "known" as const, text: before.toString("latin1"), version: "in its buffer" };
      await userFiles.replace(await realPath(path), expected, { text: after.toString("latin1") });
    },
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
