import fc from "fast-check";
import type { Test } from "tap";

/** How many times the cases of an ordinary run: more for `make fuzz`, fewer on further releases of Node. */
const FACTOR = Number(process.env["FUZZ"] ?? 1);

/**
 * Options for fast-check's `assert`, and the number of cases on the test's output. An ordinary run has the same cases
 * every time, so that it says the same of the same sources; `make fuzz` looks for new ones.
 */
export function fuzz(t: Test, what: string, runs: number): { numRuns: number; seed: number } {
  const numRuns = Math.ceil(runs * FACTOR);
  const seed = Number(process.env["FUZZ_SEED"] ?? (FACTOR <= 1 ? 1 : Date.now() % 2 ** 31));
  t.comment(`fuzzing ${what}: ${numRuns} cases, seed ${seed}`);
  return { numRuns, seed };
}

const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff })
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code));

/** Strings of any characters: as fast-check's unit "binary", which takes a second to list all characters there are. */
export function anyString(
  constraints: { minLength?: number; maxLength?: number } = {},
): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.string({ ...constraints, unit: anyCharacter }) },
    { weight: 1, arbitrary: fc.string(constraints) },
  );
}
