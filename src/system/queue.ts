/**
 * Questions to network file systems. Each takes one of the few threads that Node has for its files, and keeps it for as
 * long as there is no answer: so only few are out at a time, one to each file system, and one that has not answered for
 * a second is asked nothing more until it does.
 */
import { Refusal } from "../base/refusal.ts";

/** Node has four threads: two are left for everything else. */
const MAX_OUT = 2;

/** Milliseconds. */
const PATIENCE = 1_000;

/** The file system does not answer. */
export class NoAnswer extends Refusal {
  override readonly name = "NoAnswer";

  constructor(place: string) {
    super(`${place} does not answer`);
  }
}

export interface Queue {
  /**
   * Asks a file system, when it has answered what it was asked before.
   * @throws {NoAnswer} when it is silent by now
   */
  ask<T>(place: string, question: () => Promise<T>): Promise<T>;
  /** Calls back, until it is told to stop, whenever a file system answers that had been silent. */
  onAnswer(listener: () => void): () => void;
  /** Whether any question is out. */
  isWaiting(): boolean;
}

interface Waiting {
  run(): void;
  refuse(): void;
}

interface FileSystem {
  place: string;
  waiting: Waiting[];
  out: boolean;
  silent: boolean;
}

export function createQueue(patience = PATIENCE): Queue {
  const all = new Map<string, FileSystem>();
  const listeners = new Set<() => void>();
  const out = () => [...all.values()].filter((one) => one.out);
  /** Whoever waits for a thread now waits for ever. */
  const isStuck = () => out().filter((one) => one.silent).length >= MAX_OUT;

  function refuse(one: FileSystem): void {
    for (const { refuse } of one.waiting.splice(0)) refuse();
  }

  function goOn(): void {
    for (const one of all.values()) {
      if (one.silent || isStuck()) refuse(one);
      else if (!one.out && out().length < MAX_OUT) one.waiting.shift()?.run();
    }
  }

  /** @returns what is to be called with the answer */
  function begin(one: FileSystem, refuse: () => void): () => void {
    one.out = true;
    const late = setTimeout(() => {
      one.silent = true;
      refuse();
      goOn();
    }, patience);
    return () => {
      clearTimeout(late);
      const wasSilent = one.silent;
      one.out = one.silent = false;
      if (wasSilent) for (const listener of listeners) listener();
      goOn();
      if (!one.out) all.delete(one.place);
    };
  }

  return {
    ask(place, question) {
      const one = all.get(place) ?? { place, waiting: [], out: false, silent: false };
      all.set(place, one);
      return new Promise((resolve, reject) => {
        const refuse = () => reject(new NoAnswer(place));
        const run = () => {
          const answered = begin(one, refuse);
          question().finally(answered).then(resolve, reject);
        };
        one.waiting.push({ run, refuse });
        goOn();
      });
    },
    onAnswer(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    isWaiting: () => out().length > 0,
  };
}
