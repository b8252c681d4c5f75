// Runs tasks in parallel: one for each processor, and more while the processors are partly idle.
import { availableParallelism, cpus } from "node:os";
import { setTimeout as delay } from "node:timers/promises";

/** Interval between measurements of how idle the processors are (ms). */
const MEASURE_PERIOD_MS = 250;

/** Maximum number of parallel tasks. More tasks would slow down tests that need much processor time. */
const MAX_TASKS = 4 * availableParallelism();

/** Share of idle processor time above which another task is started. */
const MIN_IDLE_SHARE = 0.1;

/** @param {(() => Promise<void>)[]} pieces tasks to run in this order; none may reject */
export async function keepBusy(pieces) {
  const running = new Set();
  for (const piece of pieces) {
    while (running.size >= availableParallelism()) {
      const before = times();
      await Promise.race([...running, ...(running.size < MAX_TASKS ? [delay(MEASURE_PERIOD_MS)] : [])]);
      if (running.size < MAX_TASKS && idleShare(before, times()) > MIN_IDLE_SHARE) break;
    }
    const done = piece().finally(() => running.delete(done));
    running.add(done);
  }
  await Promise.all(running);
}

/** Returns the share of the time in which the processors were idle, from 0 to 1. */
function idleShare(before, after) {
  return (after.idle - before.idle) / (after.all - before.all);
}

/** Returns idle time and total time of all processors together, since the boot (ms). */
function times() {
  const sum = { idle: 0, all: 0 };
  for (const { times } of cpus()) {
    sum.idle += times.idle;
    for (const time of Object.values(times)) sum.all += time;
  }
  return sum;
}
