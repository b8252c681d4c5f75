// Runs work side by side: as many pieces as there are processors, and more while those are idle.
import { availableParallelism, cpus } from "node:os";
import { setTimeout as delay } from "node:timers/promises";

/** Milliseconds after which a piece that was started shows in what the processors do. */
const PERIOD = 250;

/** Many tests wait for a clock; with more of them than this at once, those that do not would wait for each other. */
const MOST = 4 * availableParallelism();

/** So much of the processors' time is room for another piece. */
const ENOUGH = 0.1;

/** @param {(() => Promise<void>)[]} pieces each is called once, in this order; none may reject */
export async function keepBusy(pieces) {
  const running = new Set();
  for (const piece of pieces) {
    while (running.size >= availableParallelism()) {
      const before = times();
      await Promise.race([...running, ...(running.size < MOST ? [delay(PERIOD)] : [])]);
      if (running.size < MOST && idleShare(before, times()) > ENOUGH) break;
    }
    const done = piece().finally(() => running.delete(done));
    running.add(done);
  }
  await Promise.all(running);
}

/** How idle the machine's processors were, from 0 to 1. */
function idleShare(before, after) {
  return (after.idle - before.idle) / (after.all - before.all);
}

/** Milliseconds of all processors since the machine's start. */
function times() {
  const sum = { idle: 0, all: 0 };
  for (const { times } of cpus()) {
    sum.idle += times.idle;
    for (const time of Object.values(times)) sum.all += time;
  }
  return sum;
}
