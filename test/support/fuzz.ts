/** Sets the number of cases and the time of property-based tests. */
import fc from "fast-check";
import type { Test } from "tap";

/** Factor for the number of cases: higher for `make fuzz`, lower on additional releases of Node. */
const FACTOR = Number(process.env["FUZZ"] ?? 1);

/** The factor of `make fuzz`. */
const MAKE_FUZZ = 16;

/**
 * Returns options for fast-check's `assert`, and prints the number of cases. An ordinary run always has the same cases,
 * so that it has the same result for the same sources. `make fuzz` looks for new ones.
 * @param runs cases of an ordinary run
 * @param fuzzed cases of `make fuzz`
 */
export function fuzz(
  t: Test,
  what: string,
  runs: number,
  fuzzed = runs * MAKE_FUZZ,
): { numRuns: number; seed: number } {
  const numRuns = Math.ceil(FACTOR <= 1 ? runs * FACTOR : (fuzzed * FACTOR) / MAKE_FUZZ);
  const seed = Number(process.env["FUZZ_SEED"] ?? (FACTOR <= 1 ? 1 : Date.now() % 2 ** 31));
  t.comment(`fuzzing ${what}: ${numRuns} cases, seed ${seed}`);
  return { numRuns, seed };
}

/**
 * @returns a function that is true when a slow property has used its time (ms). Its remaining cases are
 * skipped without a failure
 */
export function deadline(time: number): () => boolean {
  const end = performance.now() + time * Math.max(1, FACTOR);
  return () => performance.now() > end;
}

const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff })
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code));

/** Generates strings of any characters. fast-check's unit "binary" needs a second to list all characters. */
export function anyString(
  constraints: { minLength?: number; maxLength?: number } = {},
): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.string({ ...constraints, unit: anyCharacter }) },
    { weight: 1, arbitrary: fc.string(constraints) },
  );
}
