/**
 * Reads files and their metadata. Reads local paths synchronously, because a thread would cost 0.3 to 1.7 ms per
 * request. Reads paths on network drives in a thread with a timeout, because a drive may never answer.
 * A thread that reads a dead drive stays occupied after the timeout, and Node has only four threads for files.
 * Therefore, reads of network drives wait in a queue. The table of mounts tells which paths are on network drives.
 */
// Node loads `promises` only when it is used, so that this import does not slow down the start of the host.
import { accessSync, constants, lstatSync, promises, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { codeOf } from "./error-code.ts";
import { networksNow } from "./mounts.ts";
import { createQueue } from "./network-queue.ts";
import { readSmall, readSmallSync } from "./small-file.ts";

/** The result of an access, or the system's error code, such as `ENOENT`. */
type Answer<T> = { value: T; error?: undefined } | { value?: undefined; error: string };

/** One access to a file. {@link Moment.ask} executes the access synchronously (`atOnce`) or in a thread (`later`). */
interface Access {
  readonly path: string;
  atOnce(): void;
  later(): Promise<void>;
}

/** A generator that reads files by yielding accesses: `const { value } = yield* fileSystem.stat(path)`. */
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

/** The accesses that a {@link Question} can yield. */
export const fileSystem = {
  /** Returns the metadata of a file. Follows symbolic links. */
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

/** Resolves the symbolic links in the existing part of an absolute path. */
export function* realExisting(path: string): Question<string> {
  const { value } = yield* fileSystem.realpath(path);
  const parent = dirname(path);
  return value ?? (parent === path ? path : join(yield* realExisting(parent), basename(path)));
}

/** Answers questions about the disk at one moment. Assumes that mounts and links stay the same meanwhile. */
interface Moment {
  /**
   * Runs a {@link Question}.
   * @returns the answer itself if all paths are local, otherwise a promise
   * @throws {NoAnswer} through the promise, if a network drive does not answer
   */
  ask<T>(question: () => Question<T>): T | Promise<T>;
  /** Whether a path leads to a network drive. */
  isOnNetwork(path: string): boolean;
}

const queue = createQueue();
let running = 0;

function moment(): Moment {
  const networkOf = networksNow();

  /**
   * Runs a {@link Question} up to its first access to a network drive.
   * @returns this access and the drive, or the answer
   */
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

/**
 * Runs a function that reads a path in threads. Has no timeout. Callers must therefore await each call before the next.
 */
async function run<T>(path: string, read: () => Promise<T>): Promise<T> {
  const waits = moment().isOnNetwork(path);
  if (waits) running += 1;
  try {
    return await read();
  } finally {
    if (waits) running -= 1;
  }
}

/**
 * Creates a reader of paths.
 * @returns a function that reads a local path synchronously, and a path on a network drive through the queue
 */
function reader<T>(atOnce: (path: string) => T, later: (path: string) => Promise<T>) {
  return async (path: string): Promise<T> =>
    moment().isOnNetwork(path) ? run(path, () => later(path)) : atOnce(path);
}

export const disk = {
  moment,
  run,
  /** Returns the metadata of a file. Follows symbolic links. */
  stat: reader(
    (path) => statSync(path),
    (path) => promises.stat(path),
  ),
  lstat: reader(
    (path) => lstatSync(path),
    (path) => promises.lstat(path),
  ),
  realpath: reader(
    (path) => realpathSync.native(path),
    (path) => promises.realpath(path),
  ),
  /** Calls the listener whenever a silent drive answers. @returns a function that removes the listener */
  onAnswer: queue.onAnswer,
  /** Whether a read of a network drive is still running. */
  isWaiting: () => running > 0 || queue.isWaiting(),
};

function mayRead(path: string): true {
  accessSync(path, constants.R_OK);
  return true;
}

function failure(error: unknown): { error: string } {
  return { error: codeOf(error) };
}
