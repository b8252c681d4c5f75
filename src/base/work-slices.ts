/** Splits long work into short pieces, so that the host can answer other requests in between. */
import { setImmediate } from "node:timers/promises";

/** Maximum duration of a piece. */
const PIECE_MS = 5;

/**
 * Creates a function to call between two steps of the work. @returns a promise to await when the piece is
 * over
 */
export function createPauses(): () => Promise<void> | undefined {
  let end = performance.now() + PIECE_MS;
  return () => {
    if (performance.now() < end) return undefined;
    return setImmediate().then(() => {
      end = performance.now() + PIECE_MS;
    });
  };
}
