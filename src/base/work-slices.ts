/** Interrupts long work every few milliseconds, so that the host can answer other requests in between. */
import { setImmediate } from "node:timers/promises";

/** Time after which the work is interrupted (ms). */
const SLICE_MS = 5;

/**
 * Creates a function that long work calls after each step. If the function returns a promise, the work must await this
 * promise: the host then answers other requests. Otherwise, the work continues at once.
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
