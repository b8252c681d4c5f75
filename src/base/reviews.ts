/** Defines parts of reviews that several features use. */

/**
 * How a review ends. `lost`: the user has accepted the proposal, but its text did not reach the CLI or the file.
 * `replaced`: a newer proposal for the same file took its place. `closed`: the review ended without a decision.
 */
export type ReviewOutcome = "accepted" | "edited" | "rejected" | "lost" | "replaced" | "closed";

/** Functions for the reviews of one client. */
export interface ClientReviews {
  /**
   * Shows a proposed text in Neovim.
   * @param name identifies the review in the session. Default: the path
   * @param request id of the client's request, if the request waits for the decision
   * @throws {Refusal} if the text cannot be shown
   */
  openDiff(
    proposal: { filePath: string; newContent: string },
    name?: string,
    request?: string | number,
  ): Promise<void>;
  /**
   * Closes a review because the user has accepted the proposed text in the CLI's terminal.
   * @returns the proposed text, including the user's edits; without these edits if Neovim does not answer within two
   * seconds. The edits are then kept
   * @throws {Refusal} if no such review is open
   */
  closeDiff(name: string): Promise<string>;
  /**
   * Closes an open review, and keeps the user's edits.
   * @param reason `answered`: the user has answered in the CLI's terminal; `cancelled`: the CLI has cancelled the
   * review
   */
  dismiss(name: string, reason: "answered" | "cancelled"): Promise<void>;
  /**
   * Closes all reviews of the client, because the user has answered in the CLI's terminal. @returns the number of
   * reviews
   */
  dismissAll(): Promise<number>;
}

/** Content of the file on disk when a review opened. `bytes` is absent if the file was not read. */
export interface Original {
  readonly version: string;
  readonly bytes?: Buffer;
}

/** Records reviews in the history. */
export interface ReviewHistory {
  /** Records that a review shows a proposed text. @param original the file on disk when the review opened */
  proposed(
    review: number,
    cli: string,
    filePath: string,
    newContent: string,
    original: Promise<Original>,
  ): Promise<void>;
  /** Records the user's decision. @param content the accepted text; undefined for a rejection */
  decided(review: number, content: string | undefined): void;
  /** Records that the review has ended without a decision. */
  closed(review: number): void;
}
