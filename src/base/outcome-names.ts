/** How a review ends. `lost`: accepted, but not delivered or not written. `closed`: ended without a decision. */
export type ReviewOutcome = "accepted" | "edited" | "rejected" | "lost" | "replaced" | "closed";
