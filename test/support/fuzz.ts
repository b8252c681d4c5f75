/** Sets the number of cases and the time limits of property-based tests. */
import fc from "fast-check";
import type { Test } from "tap";

/** Factor for the number of cases. `make fuzz` sets a higher factor. */
const FACTOR = Number(process.env["FUZZ"] ?? 0.1);

/** Factor that `make fuzz` uses. */
const MAKE_FUZZ = 16;

/**
 * Returns options for fast-check's `assert`, and prints the number of cases. An ordinary run tries a tenth of the cases,
 * and always the same cases, so that the same sources give the same result. `make fuzz` uses random cases.
 * @param runs number of cases for the factor 1
 * @param fuzzed number of cases for `make fuzz`
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
 * Returns a function that is true after a time limit. A slow property can then skip its remaining cases.
 * @param time limit in milliseconds
 */
export function deadline(time: number): () => boolean {
  const end = performance.now() + time * Math.max(1, FACTOR);
  return () => performance.now() > end;
}

const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff })
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code));

/**
 * Generates strings of any characters. The unit "binary" of fast-check is not used, because it needs a second to list
 * all characters.
 */
export function anyString(
  constraints: { minLength?: number; maxLength?: number } = {},
): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.string({ ...constraints, unit: anyCharacter }) },
    { weight: 1, arbitrary: fc.string(constraints) },
  );
}
