// Runs tasks in parallel: one for each processor, and more while the processors are partly idle.
import { availableParallelism, cpus } from "node:os";
import { setTimeout as delay } from "node:timers/promises";

/** Interval between measurements of how idle the processors are. */
const MEASURE_PERIOD_MS = 250;

/** Maximum number of parallel tasks. With more, busy tests would slow each other down. */
const MAX_TASKS = 4 * availableParallelism();

/** Another task is started if the processors were idle for more than this share of the time. */
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

/** Share of the time in which the processors were idle, from 0 to 1. */
function idleShare(before, after) {
  return (after.idle - before.idle) / (after.all - before.all);
}

/** Idle time and total time of all processors together, since the boot (ms). */
function times() {
  const sum = { idle: 0, all: 0 };
  for (const { times } of cpus()) {
    sum.idle += times.idle;
    for (const time of Object.values(times)) sum.all += time;
  }
  return sum;
}
