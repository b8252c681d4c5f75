/** Long work in short pieces, so that everybody else gets their turn. */
import { setImmediate } from "node:timers/promises";

/** A piece (ms). */
const PIECE_MS = 5;

/** @returns what is to be awaited between two steps of the work: it pauses when a piece is over */
export function createPauses(): () => Promise<void> | undefined {
  let end = performance.now() + PIECE_MS;
  return () => {
    if (performance.now() < end) return undefined;
    return setImmediate().then(() => {
      end = performance.now() + PIECE_MS;
    });
  };
}
