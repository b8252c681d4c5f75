/**
 * Set by scripts/build.mjs to the hash of all sources in the bundle. Undefined in tests that run without the bundle.
 */
declare const SOURCES: string | undefined;

/** Identifies the build of this program, so that a host that still runs after an update is detected. */
export const BUILD = typeof SOURCES === "string" ? SOURCES : "";
