/** The hash of all sources in the bundle, set by scripts/build.mjs. Undefined in tests without the bundle. */
declare const SOURCES: string | undefined;

/** Identifies the build of this program, so that an old host is detected after an update. */
export const BUILD = typeof SOURCES === "string" ? SOURCES : "";
