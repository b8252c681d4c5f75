/**
 * Makes V8 save memory rather than time, because the host mostly waits. bench/README.md has the measurements.
 *
 * V8 prints an unknown flag on standard error, where Lua looks for the reason of a crash. Therefore, each flag has a
 * range of Node releases that know it (`node --v8-options`). Other releases get no flags.
 */
import { setFlagsFromString } from "node:v8";

interface Flag {
  flag: string;
  /** First and last major version of Node that know the flag. */
  from: number;
  to: number;
}

const FLAGS: readonly Flag[] = [
  // Reduces the memory for machine code and its tables.
  { flag: "--optimize-for-size", from: 20, to: 26 },
  // Keeps V8's young generation small after a burst of garbage.
  { flag: "--semi-space-growth-factor=1", from: 20, to: 26 },
  // Delays the optimizing compiler, because it needs memory. Later releases have other flags for this.
  { flag: "--interrupt-budget=1000000", from: 20, to: 20 },
];

/**
 * Returns the flags for a release of Node, in one line.
 * @param version as in `process.versions.node`
 */
export function flagsFor(version: string): string {
  const major = Number.parseInt(version, 10);
  const known = FLAGS.filter(({ from, to }) => from <= major && major <= to);
  return known.map(({ flag }) => flag).join(" ");
}

/**
 * Sets the flags. Must be called after Node has loaded its own modules. With flags on the command line, Node would
 * compile these modules again.
 */
export function saveMemory(): void {
  setFlagsFromString(flagsFor(process.versions.node));
}
