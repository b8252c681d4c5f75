/** `PEER=<checkout> make bench`: the same rows of this plugin and of another one, side by side. */
import { comparable } from "../groups.ts";
import { ours, type Subject } from "../subject.ts";
import { formatComparison, type Row } from "../table.ts";
import { peerAt } from "./adapters.ts";

/** What cannot be measured is said, and the rest is measured all the same. */
async function rowsOf(name: string, subject: Subject, floor: string): Promise<Row[]> {
  try {
    return (await comparable[name]?.(subject, floor)) ?? [];
  } catch (error) {
    console.error(`${subject.name}: ${name} cannot be measured: ${String(error).split("\n", 1)[0]}`);
    return [];
  }
}

/**
 * @param paths the peer's checkout, and after `:` those of the plugins that it needs
 * @param named groups; all that make sense by default
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
