/** Runs cleanup functions at its end. A tap test is a scope. */
export interface Scope {
  teardown(dispose: () => unknown): unknown;
}

/** Runs a function with a new scope. Afterwards, disposes of everything that the function has added to the scope. */
export async function within<T>(run: (scope: Scope) => Promise<T>): Promise<T> {
  const disposals: (() => unknown)[] = [];
  try {
    return await run({ teardown: (dispose) => void disposals.push(dispose) });
  } finally {
    const errors: unknown[] = [];
    for (const dispose of disposals.reverse()) {
      try {
        await dispose();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) console.error("not disposed of:", ...errors);
  }
}
