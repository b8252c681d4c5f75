/**
 * How a review ends. `lost`: accepted, but the text was not delivered or not written. `replaced`: another proposal took
 * its place. `closed`: ended without a decision.
 */
export type ReviewOutcome = "accepted" | "edited" | "rejected" | "lost" | "replaced" | "closed";
