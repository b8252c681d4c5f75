// Keeps what V8 has compiled of the bundle, for the next start. This process does it, not another: only what has run is
// in the cache compiled, and what a start runs, a start knows.
"use strict";

/** By then the start is over (milliseconds). */
const AFTER_START = 3000;

/** Writes the cache now. What fails the next start tries again. */
function keep({ script, cache }) {
  try {
    if (!cache.isWritable() || !cache.claim()) return;
    try {
      cache.write(script.createCachedData());
    } finally {
      cache.release();
    }
  } catch {
    // The disk is full, say: the cache is worth no word to the user.
  }
}

/** @returns does it at once, if it has not been done yet */
function keepAfterStart(loaded) {
  let timer = setTimeout(keepNow, AFTER_START).unref();
  function keepNow() {
    if (!timer) return;
    clearTimeout(timer);
    timer = undefined;
    keep(loaded);
  }
  return keepNow;
}

module.exports = { keep, keepAfterStart };
