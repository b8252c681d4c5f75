// Stores the code that V8 has compiled from the bundle, for the next start. The host does this after its own start: V8
// has then compiled exactly the functions that a start needs.
"use strict";

/** Time after which the start counts as complete (ms). */
const DELAY_MS = 3000;

/** Writes the cache. After a failure, the next start tries again. */
function keep({ script, cache }) {
  try {
    if (!cache.isWritable() || !cache.claim()) return;
    try {
      cache.write(script.createCachedData());
    } finally {
      cache.release();
    }
  } catch {
    // Ignores errors, such as a full disk, because the bridge also works without the cache.
  }
}

/**
 * Writes the cache after a delay.
 * @returns a function that writes the cache at once, unless the cache was already written
 */
function keepAfterStart(loaded) {
  let timer = setTimeout(keepNow, DELAY_MS).unref();
  function keepNow() {
    if (!timer) return;
    clearTimeout(timer);
    timer = undefined;
    keep(loaded);
  }
  return keepNow;
}

module.exports = { keep, keepAfterStart };
