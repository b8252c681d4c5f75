/** The reviews that have not ended: who asked for each, of which file, and how far its one decision is. */

/**
 * `open` until the user decides (`decided`) or it is closed without an outcome (`closing`, then `closed`). A decision is
 * given to the stream of the client that asked (`sent`), where it leaves (`delivered`), or never will (`lost`).
 */
export type ReviewState = "open" | "closing" | "decided" | "sent" | "delivered" | "lost" | "closed";

/** After these nothing follows, and the record goes. */
const LAST: readonly ReviewState[] = ["delivered", "lost", "closed"];

/** What the file and its proposal were when the review opened, as hashes: see src/review/staleness.ts. */
export interface Baseline {
  readonly disk: string;
  readonly proposed: string;
  /** The user has edited the file's buffer since. */
  readonly edited: boolean;
}

export interface Review {
  readonly id: number;
  readonly sessionId: string;
  /** What the user knows the CLI as. */
  readonly label: string;
  /** As the session spelled it in `openDiff`. */
  readonly filePath: string;
  readonly state: ReviewState;
  readonly baseline?: Baseline | undefined;
}

/** What a later host needs in order to go on with a review. */
export type ReviewInfo = Omit<Review, "state">;

export interface ReviewRecords {
  add(sessionId: string, filePath: string, label: string): Review;
  get(id: number): Review | undefined;
  /** The review of this file that the session has open. */
  find(sessionId: string, filePath: string): Review | undefined;
  ofSession(sessionId: string): Review[];
  all(): ReviewInfo[];
  note(review: Review, baseline: Baseline): void;
  /** Takes a review on; one that has ended stays as it ended. */
  move(review: Review, state: ReviewState): void;
}

/**
 * @param lastId the highest id that Lua knows to be taken.
 * @param earlier reviews of a host before this one. What became of them meanwhile, Lua tells again.
 */
export function createReviewRecords(lastId: number, earlier: readonly ReviewInfo[] = []): ReviewRecords {
  type Mutable = { -readonly [K in keyof Review]: Review[K] };
  const records = new Map<number, Mutable>(earlier.map((info) => [info.id, { ...info, state: "open" }]));
  let last = Math.max(lastId, ...earlier.map(({ id }) => id));
  return {
    add(sessionId, filePath, label) {
      const review: Mutable = { id: ++last, sessionId, filePath, label, state: "open" };
      records.set(review.id, review);
      return review;
    },
    get: (id) => records.get(id),
    find: (sessionId, filePath) =>
      [...records.values()].find(
        (review) => review.state === "open" && review.sessionId === sessionId && review.filePath === filePath,
      ),
    ofSession: (sessionId) => [...records.values()].filter((review) => review.sessionId === sessionId),
    all: () => [...records.values()].map(({ state: _, ...info }) => info),
    note({ id }, baseline) {
      const record = records.get(id);
      if (record) record.baseline = baseline;
    },
    move({ id }, state) {
      const record = records.get(id);
      if (!record) return;
      record.state = state;
      if (LAST.includes(state)) records.delete(id);
    },
  };
}
