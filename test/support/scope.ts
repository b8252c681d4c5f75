/** Somewhere to leave a disposal: a tap test, or whatever else ends at some time. */
export interface Scope {
  teardown(dispose: () => unknown): unknown;
}
