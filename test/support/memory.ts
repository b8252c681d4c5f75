/** Measures the memory of this process. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Returns the reachable memory of this process: the heap, and buffers outside the heap (bytes). */
export function heldMemory(): number {
  setFlagsFromString("--expose-gc");
  // The first collection frees the objects that own buffers. The second collection frees the buffers.
  runInNewContext("gc(), gc()");
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
