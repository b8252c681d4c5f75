/** The hash of all sources in the bundle, set by scripts/build.mjs. Undefined in tests without the bundle. */
declare const SOURCES: string | undefined;

/**
 * Identifies the build of the running host. If it differs from the installed build after an update, an old host is
 * still running.
 */
export const BUILD = typeof SOURCES === "string" ? SOURCES : "";
