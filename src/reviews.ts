/** Brings together who asked for a diff, what the editor shows, and what the user decided. */
import { encode } from "./http/notification.ts";
import type { Session, Sessions } from "./http/sessions.ts";
import type { DiffTools } from "./http/tools.ts";
import { createDiffs, type Diff } from "./ide/diffs.ts";
import type { Log } from "./log.ts";
import type { Bridge, EventHandlers } from "./nvim/bridge.ts";
import { Refusal } from "./refusal.ts";

export interface Reviews {
  /** What the tools do for this session. */
  tools(session: Session): DiffTools;
  /** Closes the reviews of a session that is gone. */
  forget(session: Session): void;
  /** Diffs whose client does not know the outcome yet, for a later host. */
  known(): Diff[];
  readonly handlers: Pick<EventHandlers, "diff_accepted" | "diff_rejected" | "diff_closed">;
}

export interface ReviewsOptions {
  bridge: Bridge;
  log: Log;
  sessions: () => Sessions;
  /** The highest diff id that is taken. */
  lastDiffId: number;
  /** Those of a host before this one. */
  known: readonly Diff[];
  /** What `known` answers has changed. */
  changed: () => void;
}

export function createReviews(options: ReviewsOptions): Reviews {
  const { bridge, log, sessions, changed } = options;
  const diffs = createDiffs(options.lastDiffId, options.known);
  /** Decided, and on the way to their client. */
  const leaving = new Set<Diff>();
  /** Closed because their client went; the user may have decided before the editor heard of it. */
  const orphans = new Map<number, Diff>();

  function settle(id: number, delivered: boolean, filePath: string): void {
    bridge.tell("decision_settled", { id, delivered, filePath });
  }

  /** Takes an outcome to the session that asked. */
  async function decide(id: number, send: (session: Session, diff: Diff) => Promise<boolean>): Promise<void> {
    const diff = diffs.resolve(id);
    if (!diff) {
      log.info(`diff ${id} was decided, but had an outcome already`);
      const orphan = orphans.get(id);
      return settle(id, orphan === undefined, orphan?.filePath ?? "");
    }
    leaving.add(diff);
    const session = sessions().get(diff.sessionId);
    const delivered = session !== undefined && (await send(session, diff));
    leaving.delete(diff);
    settle(id, delivered, diff.filePath);
    changed();
  }

  return {
    tools: (session) => ({
      async open({ filePath, newContent }) {
        const diff = diffs.open(session.id, filePath);
        const client = session.known.name;
        const shown = bridge.call("diff_open", { id: diff.id, filePath, newContent, client });
        changed(); // in the same tick, so that no crash comes between
        try {
          await shown;
        } catch (error) {
          diffs.resolve(diff.id);
          changed();
          throw error;
        }
      },
      async close(filePath) {
        const diff = diffs.find(session.id, filePath);
        if (!diff || !diffs.resolve(diff.id)) throw new Refusal(`no diff is open for ${filePath}`);
        changed();
        return (await bridge.call("diff_close", { id: diff.id, reason: "cli" })).content;
      },
    }),
    forget(session) {
      for (const diff of diffs.ofSession(session.id)) {
        diffs.resolve(diff.id);
        orphans.set(diff.id, diff);
        bridge.tell("diff_close", { id: diff.id, reason: "disconnected" });
      }
    },
    known: () => [...diffs.all(), ...leaving],
    handlers: {
      diff_accepted: ({ id, content }) =>
        decide(id, (session, { filePath }) =>
          session.deliver(encode("ide/diffAccepted", { filePath, content })),
        ),
      diff_rejected: ({ id }) =>
        decide(id, (session, { filePath }) => session.deliver(encode("ide/diffRejected", { filePath }))),
      diff_closed({ id }) {
        if (diffs.resolve(id)) changed();
        settle(id, true, "");
      },
    },
  };
}
