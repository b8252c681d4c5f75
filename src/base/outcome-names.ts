/**
 * How a review ends. `lost`: the user has accepted the proposal, but its text did not reach the CLI or the file.
 * `replaced`: a newer proposal for the same file took its place. `closed`: the review ended without a decision.
 */
export type ReviewOutcome = "accepted" | "edited" | "rejected" | "lost" | "replaced" | "closed";
