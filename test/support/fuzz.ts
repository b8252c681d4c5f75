import type { Test } from "tap";

/** `make fuzz` sets it: how many times the cases of an ordinary run. */
const FACTOR = Number(process.env["FUZZ"] ?? 1);

/**
 * Options for fast-check's `assert`, and the number of cases on the test's output. An ordinary run has the same cases
 * every time, so that it says the same of the same sources; `make fuzz` looks for new ones.
 */
export function fuzz(t: Test, what: string, runs: number): { numRuns: number; seed: number } {
  const numRuns = Math.ceil(runs * FACTOR);
  const seed = Number(process.env["FUZZ_SEED"] ?? (FACTOR === 1 ? 1 : Date.now() % 2 ** 31));
  t.comment(`fuzzing ${what}: ${numRuns} cases, seed ${seed}`);
  return { numRuns, seed };
}
