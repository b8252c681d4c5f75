/** Replaced by scripts/build.mjs: the hash of all that goes into the bundle. */
declare const SOURCES: string;

/** What this program was built from, so that one that still runs after an update is known. */
export const BUILD = SOURCES;
