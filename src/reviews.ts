/** Brings together who asked for a diff, what the editor shows, and what the user decided. */
import type { Session, Sessions } from "./http/sessions.ts";
import type { DiffTools } from "./http/tools.ts";
import { createDiffs } from "./ide/diffs.ts";
import type { Log } from "./log.ts";
import type { Bridge, EventHandlers } from "./nvim/bridge.ts";

export interface Reviews {
  /** What the tools do for this session. */
  tools(session: Session): DiffTools;
  /** Closes the reviews of a session that is gone. */
  forget(session: Session): void;
  readonly handlers: Pick<EventHandlers, "diff_accepted" | "diff_rejected" | "diff_closed">;
}

export interface ReviewsOptions {
  bridge: Bridge;
  log: Log;
  sessions: () => Sessions;
  /** The highest diff id that is taken. */
  lastDiffId: number;
}

export function createReviews({ bridge, log, sessions, lastDiffId }: ReviewsOptions): Reviews {
  const diffs = createDiffs(lastDiffId);
  return {
    tools: (session) => ({
      async open({ filePath, newContent }) {
        const diff = diffs.open(session.id, filePath);
        try {
          await bridge.call("diff_open", {
            id: diff.id,
            filePath,
            newContent,
            client: session.client().name,
          });
        } catch (error) {
          diffs.resolve(diff.id);
          throw error;
        }
      },
      async close(filePath) {
        const diff = diffs.find(session.id, filePath);
        if (!diff || !diffs.resolve(diff.id)) throw new Error(`no diff is open for ${filePath}`);
        return (await bridge.call("diff_close", { id: diff.id, reason: "cli" })).content;
      },
    }),
    forget(session) {
      for (const diff of diffs.ofSession(session.id)) {
        diffs.resolve(diff.id);
        bridge.tell("diff_close", { id: diff.id, reason: "disconnected" });
      }
    },
    handlers: {
      diff_accepted({ id, content }) {
        const diff = diffs.resolve(id);
        if (!diff) return log.info(`diff ${id} was accepted, but had an outcome already`);
        sessions().get(diff.sessionId)?.notify("ide/diffAccepted", { filePath: diff.filePath, content });
      },
      diff_rejected({ id }) {
        const diff = diffs.resolve(id);
        if (!diff) return log.info(`diff ${id} was rejected, but had an outcome already`);
        sessions().get(diff.sessionId)?.notify("ide/diffRejected", { filePath: diff.filePath });
      },
      diff_closed({ id }) {
        diffs.resolve(id);
      },
    },
  };
}
