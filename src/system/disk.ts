/**
 * Asks the disk. What is local is asked at once and without a detour by other threads, for the way there takes longer
 * than the answer. What lies on a network may take for ever: other threads ask it, as src/system/queue.ts lets them.
 */
// The promises are a module of its own, which a start does without until CLIs can find the editor.
import { accessSync, constants, lstatSync, promises, realpathSync, type Stats, statSync } from "node:fs";
import { codeOf } from "./error-code.ts";
import { type Mounts, mountsNow } from "./mounts.ts";
import { createQueue, type Queue } from "./queue.ts";
import { readSmall, readSmallSync } from "./small-file.ts";

/** What is there, or the system's name for why there is nothing, such as `ENOENT`. */
export type Answer<T> = { value: T; error?: undefined } | { value?: undefined; error: string };

export interface Disk {
  /** Of what a link leads to. */
  stat(path: string): Answer<Stats>;
  lstat(path: string): Answer<Stats>;
  realpath(path: string): Answer<string>;
  /** A small file, see src/system/small-file.ts. */
  read(path: string): Answer<Buffer>;
  /** Whether this user may read it. */
  access(path: string): Answer<true>;
}

/** Looks at the disk. It may be asked again from its beginning, and then finds what it has found before. */
export type Question<T> = (disk: Disk) => T;

/** Answers questions with the disk as it is at one moment: what is asked for again is answered as before. */
export interface Moment {
  /**
   * @returns the answer itself when all is local
   * @throws {NoAnswer} by its promise, when a network is silent
   */
  ask<T>(question: Question<T>): T | Promise<T>;
  /** Whether a path leads to a network. */
  isOnNetwork(path: string): boolean;
}

export interface Asking extends Pick<Queue, "onAnswer"> {
  moment(): Moment;
  /** Runs what asks a path by itself, in other threads, and for as long as it takes. At most one may do so at a time. */
  run<T>(path: string, ask: () => Promise<T>): Promise<T>;
  /** Whether a network has been asked and not answered yet. */
  isWaiting(): boolean;
}

/** A question cannot go on before this is known. */
class Missing extends Error {
  constructor(readonly coming: Promise<void>) {
    super();
  }
}

/** @param mounts those of a moment */
export function createDisk(queue: Queue = createQueue(), mounts: () => Mounts = mountsNow): Asking {
  function moment(): Moment {
    const { networkOf } = mounts();

    function operation<T>(
      atOnce: (path: string) => T | undefined,
      later: (path: string) => Promise<T>,
    ): (path: string) => Answer<T> {
      const known = new Map<string, Answer<T>>();
      const fetching = new Map<string, Promise<void>>();
      async function fetch(place: string, path: string): Promise<void> {
        const settled = () => later(path).then((value) => ({ value }), failure);
        known.set(path, await queue.ask<Answer<T>>(place, settled));
      }
      return (path) => {
        const place = networkOf(path);
        if (place === undefined) return answerOf(() => atOnce(path));
        const answer = known.get(path);
        if (answer) return answer;
        const coming = fetching.get(path) ?? fetch(place, path);
        fetching.set(path, coming);
        throw new Missing(coming);
      };
    }

    const disk: Disk = {
      stat: operation(
        (path) => statSync(path),
        (path) => promises.stat(path),
      ),
      lstat: operation(
        (path) => lstatSync(path, { throwIfNoEntry: false }),
        (path) => promises.lstat(path),
      ),
      realpath: operation(
        (path) => realpathSync.native(path),
        (path) => promises.realpath(path),
      ),
      read: operation(readSmallSync, readSmall),
      access: operation(mayRead, (path) => promises.access(path, constants.R_OK).then(() => true as const)),
    };

    function ask<T>(question: Question<T>): T | Promise<T> {
      try {
        return question(disk);
      } catch (error) {
        if (!(error instanceof Missing)) throw error;
        return error.coming.then(() => ask(question));
      }
    }
    return { ask, isOnNetwork: (path) => networkOf(path) !== undefined };
  }

  let running = 0;
  return {
    moment,
    async run(path, ask) {
      const waits = moment().isOnNetwork(path);
      if (waits) running += 1;
      try {
        return await ask();
      } finally {
        if (waits) running -= 1;
      }
    },
    onAnswer: queue.onAnswer,
    isWaiting: () => running > 0 || queue.isWaiting(),
  };
}

function mayRead(path: string): true {
  accessSync(path, constants.R_OK);
  return true;
}

function answerOf<T>(ask: () => T | undefined): Answer<T> {
  try {
    const value = ask();
    return value === undefined ? { error: "ENOENT" } : { value };
  } catch (error) {
    return failure(error);
  }
}

function failure(error: unknown): { error: string } {
  return { error: codeOf(error) };
}

/** That of this machine. */
export const disk = createDisk();
