// Stores V8's compiled code of the bundle for the next start. The running host writes the cache, so that the cache
// contains exactly the functions that a start needs.
"use strict";

/** Delay after which a start is complete. */
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
    // For example, the disk is full. The cache is not important enough for a message.
  }
}

/** Writes the cache after a delay. @returns a function that writes the cache at once, if it was not written yet */
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
