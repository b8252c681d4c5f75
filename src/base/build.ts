/** Replaced by scripts/build.mjs: the hash of all that goes into the bundle. Tests of its parts run without. */
declare const SOURCES: string | undefined;

/** What this program was built from, so that one that still runs after an update is known. */
export const BUILD = typeof SOURCES === "string" ? SOURCES : "";
