/** How a review ends: `lost` was accepted but not delivered or written; `closed` ended without a decision. */
export type ReviewOutcome = "accepted" | "edited" | "rejected" | "lost" | "replaced" | "closed";
