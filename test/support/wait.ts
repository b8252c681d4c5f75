import { setTimeout as delay } from "node:timers/promises";

/**
 * Polls `fn` until it returns something truthy, and returns that. An error thrown by `fn` counts as "not yet".
 * It waits 10 ms between two calls, and longer when it has waited long: to ask costs those who are to answer, too.
 * @param what what is awaited, for the error message
 * @param timeout milliseconds, also for a single call of `fn` that does not return
 * @throws Error that names `what` and the last error or value
 */
export async function waitFor<T>(
  fn: () => T | Promise<T>,
  what: string,
  timeout = 5000,
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
