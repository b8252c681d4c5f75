/**
 * Limits reads of network drives. Each read occupies one of Node's four threads for files until the drive answers. At
 * most two reads run at the same time, and only one for each drive. A drive that has not answered for a second counts
 * as silent: until it answers, further reads fail at once.
 */
import { Refusal } from "../base/refusal.ts";

/** Maximum number of running reads. Keeps two of Node's four threads free for other files. */
const MAX_RUNNING = 2;

/** Time in which a drive must answer (ms). */
const TIMEOUT_MS = 1_000;

/** A network drive did not answer in time. */
export class NoAnswer extends Refusal {
  override readonly name = "NoAnswer";

  constructor(drive: string) {
    super(`${drive} does not answer`);
  }
}

interface Queue {
  /**
   * Runs a read of a network drive, after the earlier reads of this drive have ended.
   * @param drive mount point of the drive
   * @throws {NoAnswer} if the drive is silent
   */
  ask<T>(drive: string, read: () => Promise<T>): Promise<T>;
  /** Calls the listener whenever a silent drive answers. @returns a function that removes the listener */
  onAnswer(listener: () => void): () => void;
  /** Whether a read is running. */
  isWaiting(): boolean;
}

interface Waiting {
  run(): void;
  refuse(): void;
}

interface Drive {
  path: string;
  waiting: Waiting[];
  isRunning: boolean;
  isSilent: boolean;
}

export function createQueue(timeoutMs = TIMEOUT_MS): Queue {
  const drives = new Map<string, Drive>();
  const listeners = new Set<() => void>();
  const running = () => [...drives.values()].filter(({ isRunning }) => isRunning);
  /** Whether all threads for network drives are occupied by silent drives. */
  const isStuck = () => running().filter(({ isSilent }) => isSilent).length >= MAX_RUNNING;

  function schedule(): void {
    for (const drive of drives.values()) {
      if (drive.isSilent || isStuck()) for (const { refuse } of drive.waiting.splice(0)) refuse();
      else if (!drive.isRunning && running().length < MAX_RUNNING) drive.waiting.shift()?.run();
    }
  }

  /** Starts the timeout of a read. @returns a function to call when the drive has answered */
  function begin(drive: Drive, refuse: () => void): () => void {
    drive.isRunning = true;
    const timer = setTimeout(() => {
      drive.isSilent = true;
      refuse();
      schedule();
    }, timeoutMs);
    return () => {
      clearTimeout(timer);
      const wasSilent = drive.isSilent;
      drive.isRunning = drive.isSilent = false;
      if (wasSilent) for (const listener of listeners) listener();
      schedule();
      if (!drive.isRunning) drives.delete(drive.path);
    };
  }

  return {
    ask(path, read) {
      const drive = drives.get(path) ?? { path, waiting: [], isRunning: false, isSilent: false };
      drives.set(path, drive);
      return new Promise((resolve, reject) => {
        const refuse = () => reject(new NoAnswer(path));
        const run = () => {
          const end = begin(drive, refuse);
          read().finally(end).then(resolve, reject);
        };
        drive.waiting.push({ run, refuse });
        schedule();
      });
    },
    onAnswer(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    isWaiting: () => running().length > 0,
  };
}
