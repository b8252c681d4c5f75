import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The bytes that this process cannot give back: what is reachable, in the heap and in buffers outside of it. */
export function heldMemory(): number {
  setFlagsFromString("--expose-gc");
  // Buffers go in the second: the first finds that nobody has them.
  runInNewContext("gc(), gc()");
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
