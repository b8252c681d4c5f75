/** The record of a review: everything that the host knows about one `openDiff`, and the table of all pending reviews. */
import { randomUUID } from "node:crypto";
import type { ReviewOutcome } from "../base/review-outcome.ts";
import type { DiskText } from "../system/disk-text.ts";

/**
 * `open` until the user decides (`decided`) or the review is closed without an outcome (`closing`, then `closed`). A
 * decision is given to the stream of the client that asked (`sent`). It leaves there (`delivered`), or never (`lost`).
 */
export type ReviewState = "open" | "closing" | "decided" | "sent" | "delivered" | "lost" | "closed";

/** The last states: the record is removed. */
const LAST: readonly ReviewState[] = ["delivered", "lost", "closed"];

/** The file and its proposal when the review opened, as hashes. */
export interface Baseline {
  readonly disk: string;
  readonly proposed: string;
  /** The user has edited the file's buffer since. */
  readonly edited: boolean;
}

/** What is known of the file since the review opened. Only src/review/staleness.ts changes it. */
export interface FollowedFile {
  /** The user's own buffer holds another text. */
  edited: boolean;
  /** The file at the last look. */
  seen?: Pick<DiskText, "hash" | "version">;
  /** What Neovim was told last. */
  stale: boolean;
  /** Paths whose folders are watched. */
  places: string[];
}

/** Only src/review/reviews.ts changes the state, the text and the outcome. */
export interface Review {
  readonly id: number;
  /** Owner: the session that asked. */
  readonly sessionId: string;
  /** The user's name for the CLI. */
  readonly label: string;
  /** As the session spelled it in `openDiff`. */
  readonly filePath: string;
  state: ReviewState;
  /** The proposed text and the id by which Neovim names it. Unknown after a crash of the host. */
  text?: { readonly id: string; readonly content: string };
  /** Unknown until the file was read. */
  baseline?: Baseline | undefined;
  /** While the file is followed. */
  file?: FollowedFile;
  /** Tells those in this host who wait for the outcome. */
  tell?: (outcome: ReviewOutcome) => void;
}

/** What a later host needs in order to go on with a review. */
export type ReviewInfo = Readonly<Pick<Review, "id" | "sessionId" | "label" | "filePath" | "baseline">>;

export interface ReviewTable {
  add(sessionId: string, filePath: string, label: string): Review;
  get(id: number): Review | undefined;
  /** The open review of this file that the session has asked for. */
  find(sessionId: string, filePath: string): Review | undefined;
  all(): Review[];
  infos(): ReviewInfo[];
  /** Sets the state. A record in its last state is removed and stays as it is. */
  move(review: Review, state: ReviewState): void;
}

/**
 * @param lastId the highest id that Neovim knows.
 * @param earlier reviews of a host before this one. Neovim tells their decisions again.
 */
export function createReviewTable(lastId: number, earlier: readonly ReviewInfo[] = []): ReviewTable {
  const reviews = new Map<number, Review>(earlier.map((info) => [info.id, { ...info, state: "open" }]));
  let last = Math.max(lastId, ...earlier.map(({ id }) => id));
  return {
    add(sessionId, filePath, label) {
      const review: Review = { id: ++last, sessionId, filePath, label, state: "open" };
      reviews.set(review.id, review);
      return review;
    },
    get: (id) => reviews.get(id),
    find: (sessionId, filePath) =>
      [...reviews.values()].find(
        (review) => review.state === "open" && review.sessionId === sessionId && review.filePath === filePath,
      ),
    all: () => [...reviews.values()],
    infos: () =>
      [...reviews.values()].map(({ id, sessionId, label, filePath, baseline }) => ({
        id,
        sessionId,
        label,
        filePath,
        baseline,
      })),
    move(review, state) {
      if (!reviews.has(review.id)) return;
      review.state = state;
      if (LAST.includes(state)) reviews.delete(review.id);
    },
  };
}

/** Sets the proposed text of a review. @returns the promise of its outcome; an earlier promise resolves as "replaced" */
export function setText(review: Review, content: string): Promise<ReviewOutcome> {
  review.tell?.("replaced");
  review.text = { id: randomUUID(), content };
  return new Promise((tell) => {
    review.tell = tell;
  });
}

/** The outcome of a decision. @param content of the accepted proposal, absent for a rejection */
export function outcomeOf(review: Review, content: string | undefined, isDelivered: boolean): ReviewOutcome {
  if (content === undefined) return "rejected";
  if (!isDelivered) return "lost";
  return content === review.text?.content ? "accepted" : "edited";
}
