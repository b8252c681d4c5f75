/**
 * Defines the record of a review, and the table of all pending reviews. A record holds all data about one call of
 * `openDiff`.
 */
import { randomUUID } from "node:crypto";
import type { ReviewOutcome } from "../base/outcome-names.ts";
import type { DiskText } from "../system/disk-text.ts";

/**
 * State of a review:
 * - `open`: waits for the user
 * - `closing`, then `closed`: ends without an outcome
 * - `decided`: the user has accepted or rejected the text
 * - `sent`: the decision is in the client's event stream
 * - `delivered`: the client has received the decision
 * - `lost`: the client has not received the decision
 */
export type ReviewState = "open" | "closing" | "decided" | "sent" | "delivered" | "lost" | "closed";

/** States of an ended review. The record of an ended review is removed. */
const FINAL_STATES: readonly ReviewState[] = ["delivered", "lost", "closed"];

/**
 * Hashes from the time when the proposed text was shown: of the file on disk (`disk`), and of the proposed text
 * (`proposed`).
 */
interface Baseline {
  readonly disk: string;
  readonly proposed: string;
  /** True if the file's buffer contains edits that the user made after the review opened. */
  readonly edited: boolean;
}

/** State of the file that a review is about. Only src/review/staleness.ts changes this state. */
export interface FollowedFile {
  /** True if the user's buffer differs from the file on disk. */
  edited: boolean;
  /** Hash and version of the file when it was last read. */
  seen?: Pick<DiskText, "hash" | "version">;
  /** True if Neovim shows the review as stale. */
  stale: boolean;
}

/** Record of one review. Only src/review/open-to-outcome.ts changes `state`, `text` and `tell`. */
export interface Review {
  readonly id: number;
  /** Session of the client that called `openDiff`. */
  readonly sessionId: string;
  /** Name of the CLI in messages for the user. */
  readonly label: string;
  /** Name of the review in its session. Usually the path of the file. */
  readonly name: string;
  /** Path of the file, spelled as in the call of `openDiff`. */
  readonly filePath: string;
  state: ReviewState;
  /** The proposed text, with an id that messages from Neovim use. Undefined after a crash of the host process. */
  text?: { readonly id: string; readonly content: string };
  /** State of the file when the proposed text was shown. Undefined until the file has been read. */
  baseline?: Baseline | undefined;
  /** Current state of the file. Undefined until src/review/staleness.ts follows the file. */
  file?: FollowedFile;
  /** Resolves the promise that waits for the outcome. */
  tell?: (outcome: ReviewOutcome) => void;
}

/**
 * Stored form of a review. Leaves out the name: after a restart of the host process, a review continues only if its
 * name is the path of the file.
 */
export type ReviewInfo = Readonly<Pick<Review, "id" | "sessionId" | "label" | "filePath" | "baseline">>;

interface ReviewTable {
  add(review: Pick<Review, "sessionId" | "name" | "filePath" | "label">): Review;
  get(id: number): Review | undefined;
  /** Finds an open review in a session by name. */
  find(sessionId: string, name: string): Review | undefined;
  all(): Review[];
  infos(): ReviewInfo[];
  /** Sets the state of a review. A final state removes the record, and never changes again. */
  move(review: Review, state: ReviewState): void;
}

/**
 * Creates the table of reviews.
 * @param lastId highest review id that Neovim knows
 * @param earlier reviews of the previous host process. All of them start as `open`, because Neovim sends the user's
 * decisions again
 */
export function createReviewTable(lastId: number, earlier: readonly ReviewInfo[] = []): ReviewTable {
  const reviews = new Map<number, Review>(
    earlier.map((info) => [info.id, { ...info, name: info.filePath, state: "open" }]),
  );
  let last = Math.max(lastId, ...earlier.map(({ id }) => id));
  return {
    add(parts) {
      const review: Review = { id: ++last, ...parts, state: "open" };
      reviews.set(review.id, review);
      return review;
    },
    get: (id) => reviews.get(id),
    find: (sessionId, name) =>
      [...reviews.values()].find(
        (review) => review.state === "open" && review.sessionId === sessionId && review.name === name,
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
      if (FINAL_STATES.includes(state)) reviews.delete(review.id);
    },
  };
}

/** Sets the proposed text of a review. @returns the promise of the review's outcome */
export function setText(review: Review, content: string): Promise<ReviewOutcome> {
  review.text = { id: randomUUID(), content };
  return new Promise((tell) => {
    review.tell = tell;
  });
}

/** Returns the outcome of a decision. @param content the accepted text; undefined for a rejection */
export function outcomeOf(review: Review, content: string | undefined, isDelivered: boolean): ReviewOutcome {
  if (content === undefined) return "rejected";
  if (!isDelivered) return "lost";
  return content === review.text?.content ? "accepted" : "edited";
}
