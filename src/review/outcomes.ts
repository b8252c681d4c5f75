/** What became of reviews, for those in this host who wait for it. */

import type { ReviewOutcome } from "../base/review-outcome.ts";

export interface ReviewOutcomes {
  /** Waits for the outcome of a review. Whoever waited for it before is told that it was replaced. */
  expect(id: number, proposed: string): Promise<ReviewOutcome>;
  /** The user has decided, and the file is as they want it. @param content nothing for a rejection */
  decided(id: number, content: string | undefined, isWritten: boolean): void;
  /** It ended without a decision. @param isWritten because the file holds what was proposed */
  closed(id: number, isWritten: boolean): void;
  /** Nothing more will be told. May run twice. */
  close(): void;
}

export function createReviewOutcomes(): ReviewOutcomes {
  const waiting = new Map<number, { proposed: string; tell: (outcome: ReviewOutcome) => void }>();

  function settle(id: number, outcome: ReviewOutcome): void {
    waiting.get(id)?.tell(outcome);
    waiting.delete(id);
  }

  return {
    expect(id, proposed) {
      settle(id, "replaced");
      return new Promise((tell) => waiting.set(id, { proposed, tell }));
    },
    decided(id, content, isWritten) {
      const { proposed } = waiting.get(id) ?? {};
      if (content === undefined) settle(id, "rejected");
      else if (!isWritten) settle(id, "lost");
      else settle(id, content === proposed ? "accepted" : "edited");
    },
    closed: (id, isWritten) => settle(id, isWritten ? "accepted" : "closed"),
    close() {
      for (const id of [...waiting.keys()]) settle(id, "closed");
    },
  };
}
