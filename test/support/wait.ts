/** Waits for conditions. */
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Test } from "tap";

/**
 * Default limit of a wait (ms). Long, because the limit only decides when a wrong program fails: a machine with other
 * work may need many times as long as a quiet one.
 */
export const WAIT_MS = 30_000;

/**
 * Polls `fn` until it returns a truthy value. An error of `fn` counts as "not yet". Polls every 10 ms at first, and
 * less often later, because polling costs time.
 * @returns the truthy value
 * @param what name of the condition, for the error message
 * @param timeout milliseconds; also limits a single call of `fn`
 * @throws Error with `what` and the last error or value
 */
export async function waitFor<T>(
  fn: () => T | Promise<T>,
  what: string,
  timeout = WAIT_MS,
): Promise<NonNullable<T>> {
  const end = new AbortController();
  const start = performance.now();
  const deadline = start + timeout;
  const late = delay(timeout, undefined, { signal: end.signal }).catch(() => undefined);
  let last = "no answer";
  try {
    do {
      try {
        const value = await Promise.race([fn(), late]);
        if (value) return value;
        if (performance.now() < deadline) last = `last value: ${String(value)}`;
      } catch (error) {
        last = `last error: ${error instanceof Error ? error.message : String(error)}`;
      }
      await delay(Math.min(10 + (performance.now() - start) / 10, 100));
    } while (performance.now() < deadline);
  } finally {
    end.abort();
  }
  throw new Error(`waited ${timeout} ms for ${what}; ${last}`);
}

/** Waits until `read` returns `wanted`, and asserts the equality. */
export async function becomes<T>(
  t: Pick<Test, "strictSame">,
  read: () => T | Promise<T>,
  wanted: T,
  what = String(wanted),
  timeout?: number,
): Promise<void> {
  await waitFor(async () => isDeepStrictEqual(await read(), wanted), what, timeout).catch(() => {});
  t.strictSame(await read(), wanted, what);
}
