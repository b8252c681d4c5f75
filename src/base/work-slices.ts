/** Splits long work into short slices, so that the host can answer other requests in between. */
import { setImmediate } from "node:timers/promises";

/** Maximum duration of a slice. */
const SLICE_MS = 5;

/**
 * Creates a function to call between two steps of the work. When the current slice is over, the function returns a
 * promise to await; until then, undefined.
 */
export function createYielder(): () => Promise<void> | undefined {
  let end = performance.now() + SLICE_MS;
  return () => {
    if (performance.now() < end) return undefined;
    return setImmediate().then(() => {
      end = performance.now() + SLICE_MS;
    });
  };
}
