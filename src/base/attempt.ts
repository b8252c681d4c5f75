/** Calls a function whose failure means the same as a missing result. */

/** Returns the result of `act`; undefined if `act` throws. The error is dropped. */
export function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
