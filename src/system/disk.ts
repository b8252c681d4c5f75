/**
 * Reads files and their metadata. A local path is read synchronously, which is faster than a thread. A path on a
 * network drive is read in a thread with a timeout, because the drive may never answer.
 */
// `promises` is loaded on first use: the host starts without it.
import { accessSync, constants, lstatSync, promises, realpathSync, statSync } from "node:fs";
import { codeOf } from "./error-code.ts";
import { type Mounts, mountsNow } from "./mounts.ts";
import { createQueue, type Queue } from "./network-queue.ts";
import { readSmall, readSmallSync } from "./small-file.ts";

/** A result, or the system's error code, such as `ENOENT`. */
export type Answer<T> = { value: T; error?: undefined } | { value?: undefined; error: string };

/** One access to a file, which {@link Moment.ask} makes in one of two ways. */
interface Access {
  readonly path: string;
  atOnce(): void;
  later(): Promise<void>;
}

/** A function that accesses files: `const { value } = yield* fileSystem.stat(path)`. */
export type Question<T> = Generator<Access, T, void>;

function operation<T>(atOnce: (path: string) => T | undefined, later: (path: string) => Promise<T>) {
  return function* (path: string): Question<Answer<T>> {
    let answer: Answer<T> = { error: "ENOENT" };
    yield {
      path,
      atOnce() {
        try {
          const value = atOnce(path);
          if (value !== undefined) answer = { value };
        } catch (error) {
          answer = failure(error);
        }
      },
      async later() {
        answer = await later(path).then((value) => ({ value }), failure);
      },
    };
    return answer;
  };
}

/** The accesses that a question may make. */
export const fileSystem = {
  /** Follows links. */
  stat: operation(
    (path) => statSync(path, { throwIfNoEntry: false }),
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
  /** Reads a small file, see src/system/small-file.ts. */
  read: operation(readSmallSync, readSmall),
  /** Whether this user may read the file. */
  access: operation(mayRead, (path) => promises.access(path, constants.R_OK).then(() => true as const)),
};

/** Answers questions. The mounts and links are those of one moment. */
export interface Moment {
  /**
   * @returns the answer itself if all paths are local
   * @throws {NoAnswer} by its promise, if a network drive does not answer
   */
  ask<T>(question: () => Question<T>): T | Promise<T>;
  /** Whether a path resolves to a network drive. */
  isOnNetwork(path: string): boolean;
}

export interface Disk extends Pick<Queue, "onAnswer"> {
  moment(): Moment;
  /** Runs a function that reads a path in threads, without a timeout. Each caller must run at most one at a time. */
  run<T>(path: string, read: () => Promise<T>): Promise<T>;
  /** Whether a network drive has not answered yet. */
  isWaiting(): boolean;
}

/** @param mounts returns the current mounts */
export function createDisk(queue: Queue = createQueue(), mounts: () => Mounts = mountsNow): Disk {
  function moment(): Moment {
    const { networkOf } = mounts();

    /** Runs a question up to the first access to a network drive. @returns that access and its drive */
    function advance<T>(question: Question<T>) {
      for (;;) {
        const step = question.next();
        if (step.done) return { answer: step.value };
        const drive = networkOf(step.value.path);
        if (drive !== undefined) return { access: step.value, drive };
        step.value.atOnce();
      }
    }

    async function goOn<T>(question: Question<T>, access: Access, drive: string): Promise<T> {
      await queue.ask(drive, access.later);
      const next = advance(question);
      return "answer" in next ? next.answer : goOn(question, next.access, next.drive);
    }

    return {
      ask(question) {
        const asked = question();
        const next = advance(asked);
        return "answer" in next ? next.answer : goOn(asked, next.access, next.drive);
      },
      isOnNetwork: (path) => networkOf(path) !== undefined,
    };
  }

  let running = 0;
  return {
    moment,
    async run(path, read) {
      const waits = moment().isOnNetwork(path);
      if (waits) running += 1;
      try {
        return await read();
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

function failure(error: unknown): { error: string } {
  return { error: codeOf(error) };
}

/** The disk of this machine. */
export const disk = createDisk();
