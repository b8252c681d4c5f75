/** Runs cleanup functions at its end. A tap test is a scope. */
export interface Scope {
  teardown(dispose: () => unknown): unknown;
}
