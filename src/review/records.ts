/**
 * Defines the record of a review, and the table of all pending reviews. A record holds everything that the host knows
 * about one `openDiff`.
 */
import { randomUUID } from "node:crypto";
import type { ReviewOutcome } from "../base/outcome-names.ts";
import type { DiskText } from "../system/disk-text.ts";

/**
 * - `open`: waits for the user
 * - `closing`, then `closed`: ends without an outcome
 * - `decided`: the user has accepted or rejected
 * - `sent`: the decision is in the client's event stream
 * - `delivered` or `lost`: whether the client has received the decision
 */
export type ReviewState = "open" | "closing" | "decided" | "sent" | "delivered" | "lost" | "closed";

/** States of an ended review, whose record is removed. */
const FINAL_STATES: readonly ReviewState[] = ["delivered", "lost", "closed"];

/** Hashes of the file (`disk`) and of the proposal (`proposed`) at the time when the proposal was shown. */
interface Baseline {
  readonly disk: string;
  readonly proposed: string;
  /** Whether the user has edited the file's buffer since the review opened. */
  readonly edited: boolean;
}

/** Current state of a review's file. Only src/review/staleness.ts changes it. */
export interface FollowedFile {
  /** Whether the user's buffer differs from the file. */
  edited: boolean;
  /** The file as it was last read. */
  seen?: Pick<DiskText, "hash" | "version">;
  /** Whether the review is stale, as last sent to Neovim. */
  stale: boolean;
}

/** One review. Only src/review/open-to-outcome.ts changes the state, the text and the outcome. */
export interface Review {
  readonly id: number;
  /** Session of the client that called `openDiff`. */
  readonly sessionId: string;
  /** Name of the CLI for the user. */
  readonly label: string;
  /** Identifies the review in its session: the path, unless the CLI has another name for it. */
  readonly name: string;
  /** Path of the file, spelled as in `openDiff`. */
  readonly filePath: string;
  state: ReviewState;
  /** The proposed text, and its id in messages from Neovim. Undefined after a crash of the host. */
  text?: { readonly id: string; readonly content: string };
  /** Undefined until the file is read. */
  baseline?: Baseline | undefined;
  /** Undefined until src/review/staleness.ts follows the file. */
  file?: FollowedFile;
  /** Resolves the promise of the outcome. */
  tell?: (outcome: ReviewOutcome) => void;
}

/**
 * The data of a review for the next host. Does not contain the name, because a later host continues only reviews whose
 * name is their path.
 */
export type ReviewInfo = Readonly<Pick<Review, "id" | "sessionId" | "label" | "filePath" | "baseline">>;

interface ReviewTable {
  add(review: Pick<Review, "sessionId" | "name" | "filePath" | "label">): Review;
  get(id: number): Review | undefined;
  /** Finds an open review by its name in its session. */
  find(sessionId: string, name: string): Review | undefined;
  all(): Review[];
  infos(): ReviewInfo[];
  /** Sets the state. A final state removes the record; after that, the state no longer changes. */
  move(review: Review, state: ReviewState): void;
}

/**
 * @param lastId highest id that Neovim knows
 * @param earlier reviews of an earlier host. All of them start as `open`: Neovim sends the user's decisions on them
 * again.
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

/** Returns the outcome of a decision. @param content of the accepted proposal; undefined for a rejection */
export function outcomeOf(review: Review, content: string | undefined, isDelivered: boolean): ReviewOutcome {
  if (content === undefined) return "rejected";
  if (!isDelivered) return "lost";
  return content === review.text?.content ? "accepted" : "edited";
}
