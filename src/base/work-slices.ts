/** Interrupts long work every few milliseconds, so that the host can answer other requests in between. */
import { setImmediate } from "node:timers/promises";

/** Time after which the work is interrupted. */
const SLICE_MS = 5;

/**
 * Creates a function that long work calls after each step. If it returns a promise, the work must await it: other
 * requests are then answered. Otherwise, the work can continue at once.
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
