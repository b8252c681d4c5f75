/** `PEER=<checkout> make bench`: measures this plugin and another plugin, and prints their results side by side. */
import { comparable } from "../groups.ts";
import { ours, type Subject } from "../subject.ts";
import { formatComparison, type Row } from "../table.ts";
import { peerAt } from "./adapters.ts";

/** Measures a group. Prints a failure instead of throwing it, so that the other groups are still measured. */
async function rowsOf(name: string, subject: Subject, floor: string): Promise<Row[]> {
  try {
    return (await comparable[name]?.(subject, floor)) ?? [];
  } catch (error) {
    console.error(`${subject.name}: ${name} cannot be measured: ${String(error).split("\n", 1)[0]}`);
    return [];
  }
}

/**
 * Measures this plugin and another plugin, and prints the results.
 * @param paths checkout of the other plugin, then checkouts of its dependencies, separated by `:`
 * @param named names of the groups. Without names: all groups that other plugins support
 */
export async function comparePeer(
  paths: string,
  floor: string,
  nvim: string,
  named: readonly string[],
): Promise<void> {
  const peer = peerAt(paths);
  const own: Row[] = [];
  const others: Row[] = [];
  for (const name of named.length > 0 ? named : Object.keys(comparable)) {
    own.push(...(await rowsOf(name, ours, floor)));
    others.push(...(await rowsOf(name, peer, floor)));
  }
  console.log(formatComparison(nvim, peer.name, own, others));
}
