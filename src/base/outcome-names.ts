/**
 * How a review ends. `lost`: the user has accepted, but the text was not delivered to the CLI or not written.
 * `replaced`: another proposal took its place. `closed`: ended without a decision.
 */
export type ReviewOutcome = "accepted" | "edited" | "rejected" | "lost" | "replaced" | "closed";
