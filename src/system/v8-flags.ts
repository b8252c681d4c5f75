/**
 * Makes V8 save memory rather than time, because the host mostly waits. bench/README.md has the measurements.
 *
 * V8 prints an unknown flag on standard error, where Lua looks for the reason of a crash. Each flag is therefore listed
 * with the releases of Node that know it (`node --v8-options`). Untested releases get no flags.
 */
import { setFlagsFromString } from "node:v8";

interface Flag {
  flag: string;
  /** First and last major version of Node. */
  from: number;
  to: number;
}

const FLAGS: readonly Flag[] = [
  // Machine code and its tables take less memory.
  { flag: "--optimize-for-size", from: 20, to: 26 },
  // Keeps the young generation small after a burst of garbage.
  { flag: "--semi-space-growth-factor=1", from: 20, to: 26 },
  // Delays the optimizing compiler, which needs memory. Later releases have other flags for this.
  { flag: "--interrupt-budget=1000000", from: 20, to: 20 },
];

/** Returns the flags for a release of Node, in one line. @param version as in `process.versions.node` */
export function flagsFor(version: string): string {
  const major = Number.parseInt(version, 10);
  const known = FLAGS.filter(({ from, to }) => from <= major && major <= to);
  return known.map(({ flag }) => flag).join(" ");
}

/**
 * Sets the flags. Must be called after Node has loaded its own modules. If the flags were set on the command line, Node
 * would compile these modules again.
 */
export function saveMemory(): void {
  setFlagsFromString(flagsFor(process.versions.node));
}
