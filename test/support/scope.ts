/** A scope that runs disposals at its end, such as a tap test. */
export interface Scope {
  teardown(dispose: () => unknown): unknown;
}
