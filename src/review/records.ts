/** Defines the record of a review. A record holds all data about one call of `openDiff`. */
import type { ReviewOutcome } from "../base/reviews.ts";
import type { Memory } from "../contract/memory.ts";
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
export const FINAL_STATES: readonly ReviewState[] = ["delivered", "lost", "closed"];

/**
 * Stored form of a review. Leaves out the name: after a restart of the host process, a review continues only if its
 * name is the path of the file.
 */
export type ReviewInfo = Memory["diffs"][number];

/** State of the file that a review is about. Only src/review/staleness.ts changes this state. */
export interface FollowedFile {
  /** True if the user's buffer differs from the file on disk. */
  edited: boolean;
  /** Hash and version of the file when it was last read. */
  seen?: Pick<DiskText, "hash" | "version">;
  /** True if Neovim shows the review as stale. */
  stale: boolean;
}

/** Record of one review. Only src/review/open-to-outcome.ts changes `request`, `state`, `text` and `tell`. */
export interface Review extends Readonly<ReviewInfo> {
  /** Name of the review in its session. Usually the path of the file. */
  readonly name: string;
  /** Id of the client's request that has proposed the shown text, if the request waits for the decision. */
  request?: string | number | undefined;
  state: ReviewState;
  /** The proposed text, with an id that messages from Neovim use. Undefined after a crash of the host process. */
  text?: { readonly id: string; readonly content: string };
  /** State of the file when the proposed text was shown. Undefined until the file has been read. */
  baseline?: ReviewInfo["baseline"];
  /** Current state of the file. Undefined until src/review/staleness.ts follows the file. */
  file?: FollowedFile;
  /** Resolves the promise that waits for the outcome. */
  tell?: (outcome: ReviewOutcome) => void;
}

/** Returns the outcome of a decision. @param content the accepted text; undefined for a rejection */
export function outcomeOf(review: Review, content: string | undefined, isDelivered: boolean): ReviewOutcome {
  if (content === undefined) return "rejected";
  if (!isDelivered) return "lost";
  return content === review.text?.content ? "accepted" : "edited";
}
