/** Takes samples and summarizes them. */

/** Summary of the samples of one measurement, in the unit of the measurement. */
export interface Summary {
  runs: number;
  median: number;
  /** A quarter of the samples are below `low`, a quarter above `high`. */
  low: number;
  high: number;
  p99: number;
}

export function summarize(samples: readonly number[]): Summary {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (share: number) => {
    const position = (sorted.length - 1) * share;
    const below = sorted[Math.floor(position)] ?? Number.NaN;
    const above = sorted[Math.ceil(position)] ?? Number.NaN;
    return below + (above - below) * (position % 1);
  };
  return {
    runs: sorted.length,
    median: at(0.5),
    low: at(0.25),
    high: at(0.75),
    p99: at(0.99),
  };
}

/**
 * Runs measurements alternately, so that all run under the same load. Runs each measurement once, and repeats this
 * until each has `runs` samples.
 * @returns the samples of each measurement, in the order of the measurements
 */
export async function takeTurns<const M extends readonly (() => Promise<unknown>)[]>(
  runs: number,
  measurements: M,
): Promise<{ [K in keyof M]: Awaited<ReturnType<M[K]>>[] }> {
  const samples: unknown[][] = measurements.map(() => []);
  for (let run = 0; run < runs; run += 1) {
    for (const [index, measure] of measurements.entries()) samples[index]?.push(await measure());
  }
  return samples as { [K in keyof M]: Awaited<ReturnType<M[K]>>[] };
}

/** Returns the duration of `run` (ms). */
export async function time(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}
