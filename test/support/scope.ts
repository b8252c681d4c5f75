/** Runs cleanup functions at its end. A tap test is a scope. */
export interface Scope {
  teardown(dispose: () => unknown): unknown;
}

/**
 * Runs a function with a new scope. Afterwards, disposes of everything that the function has added to the scope.
 * @throws the error of the function. If the function succeeds: AggregateError with the errors of the disposals
 */
export async function within<T>(run: (scope: Scope) => Promise<T>): Promise<T> {
  const disposals: (() => unknown)[] = [];
  const result = run({ teardown: (dispose) => void disposals.push(dispose) });
  const [outcome] = await Promise.allSettled([result]);
  const errors: unknown[] = [];
  for (const dispose of disposals.reverse()) {
    try {
      await dispose();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) {
    if (outcome.status === "fulfilled") throw new AggregateError(errors, "not disposed of");
    console.error("not disposed of:", ...errors);
  }
  return result;
}
