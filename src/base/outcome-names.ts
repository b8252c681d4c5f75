/**
 * How a review ends. `lost`: the user has accepted, but delivering the text to the CLI, or writing it, has failed.
 * `replaced`: another proposal took its place. `closed`: ended without a decision.
 */
export type ReviewOutcome = "accepted" | "edited" | "rejected" | "lost" | "replaced" | "closed";
