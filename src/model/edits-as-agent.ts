/** Makes edits on behalf of a CLI. Such edits are either reviewed first, or tracked like the CLI's own edits. */
import type { ReviewOutcome } from "../base/reviews.ts";
import type { Agent } from "../contract/hooks.ts";
import type { Turn, TurnListener } from "../contract/turns.ts";
import type { SessionInfo } from "../http/client.ts";
import { realPath } from "../system/file-state.ts";
import type { UserFiles } from "../system/user-files.ts";

export interface Following {
  /** Receives the steps of turns. */
  listener: TurnListener;
  /** Creates a turn that nothing else belongs to. */
  newTurn(agent: Agent): Turn;
  /** Returns whether the user reviews every edit of this CLI. */
  isGated(cli: string): boolean;
  /** Opens a review of a file's new text, and writes the accepted text. Aborting the signal closes the review. */
  propose(cli: string, path: string, content: string, signal: AbortSignal): Promise<ReviewOutcome>;
  readonly userFiles: UserFiles;
}

/** Functions with which one tool call edits files. */
export interface Editing {
  readonly isGated: boolean;
  /** Runs a function that changes these files. Attributes the changes to the CLI, so that the user can undo them. */
  follow<T>(paths: readonly string[], act: () => Promise<T>): Promise<T>;
  /**
   * Writes a file. Must be called by the function that `follow` runs.
   * @throws {Refusal} if the file does not contain the bytes `before`
   */
  write(path: string, before: Buffer, after: Buffer): Promise<void>;
  /** Opens a review, and returns the user's decision. @throws {Refusal} if the review cannot be shown */
  propose(path: string, content: string): Promise<ReviewOutcome>;
}

let calls = 0;

/**
 * Creates the editing functions for one tool call. Each call acts as a separate agent with a turn of its own, because the
 * end of an agent's turn ends all edits of the agent.
 */
export function editsAs(
  { credential, id }: Pick<SessionInfo, "credential" | "id">,
  following: Following,
  signal: AbortSignal,
): Editing {
  const { listener, newTurn, isGated, propose, userFiles } = following;
  calls += 1;
  const agent: Agent = { cli: credential, session: `neovim ${id} ${calls}`, cwd: "/", pid: process.pid };
  const begun = { aborted: false };
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
      const turn = newTurn(agent);
      const tools = paths.map((filePath) => ({ kind: "edit" as const, name: "neovim", filePath }));
      await listener({ turn, kind: "started" });
      for (const tool of tools) await listener({ turn, kind: "tool_starting", tool, begun });
      try {
        return await act();
      } finally {
        for (const tool of tools) await listener({ turn, kind: "tool_ended", tool, failed: false });
        await listener({ turn, kind: "ended", isDead: false });
      }
    },
  };
}
