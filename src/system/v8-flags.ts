/**
 * Has V8 rather use less memory than run fast: the host lives for as long as an editor, and mostly waits.
 *
 * The flags are V8's own, and come and go with it: one that it does not know it names on standard error, where the
 * reason for the host's end is looked for. So each stands with the releases of Node whose V8 has it
 * (`node --v8-options`), and a release that nobody has looked at gets none. bench/README.md has what they are worth.
 */
import { setFlagsFromString } from "node:v8";

interface Flag {
  flag: string;
  /** Major versions of Node, both included. */
  from: number;
  to: number;
}

const FLAGS: readonly Flag[] = [
  // Machine code and its tables take less memory.
  { flag: "--optimize-for-size", from: 20, to: 26 },
  // The young generation stays small: garbage of a burst is not kept in expectation of the next one.
  { flag: "--semi-space-growth-factor=1", from: 20, to: 26 },
  // A function runs for long before the optimizing compiler takes it, and memory for itself. Later releases count calls
  // instead, under other names.
  { flag: "--interrupt-budget=1000000", from: 20, to: 20 },
];

/** What V8 of this Node knows of them, in one line. @param version of Node, as in `process.versions.node` */
export function flagsFor(version: string): string {
  const major = Number.parseInt(version, 10);
  const known = FLAGS.filter(({ from, to }) => from <= major && major <= to);
  return known.map(({ flag }) => flag).join(" ");
}

/**
 * Sets them for this process. Not on the command line, where they would have Node compile its own modules anew: this is
 * to be called when those are loaded.
 */
export function saveMemory(): void {
  setFlagsFromString(flagsFor(process.versions.node));
}
