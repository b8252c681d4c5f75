// Stores V8's compiled code of the bundle for the next start. The host itself writes the cache, which then contains
// only the functions that a start needs.
"use strict";

/** Delay after which the start is complete. */
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

/** Writes the cache after a delay. @returns a function that writes it at once, unless it was written */
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
