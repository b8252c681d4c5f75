/**
 * Runs functions one after the other. They must not overlap, because each function compares the disk with the state
 * that the previous function has left.
 */
import type { Log } from "../base/log.ts";
import { Refusal } from "../base/refusal.ts";
import { createYielder } from "../base/work-slices.ts";
import type { Bridge } from "../neovim/bridge.ts";

export interface Queue {
  /** Runs a function after all earlier ones. @returns the result of the function @throws the error of the function */
  inOrder<T>(run: () => T | Promise<T>): Promise<T>;
  /** Like `inOrder`, but shows the message of a thrown {@link Refusal} to the user, and logs other errors. */
  enqueue(run: () => void | Promise<void>): Promise<void>;
}

export function createQueue(bridge: Pick<Bridge, "tell">, log: Pick<Log, "error">): Queue {
  const yieldIfDue = createYielder();
  let last: Promise<void> = Promise.resolve();

  function inOrder<T>(run: () => T | Promise<T>): Promise<T> {
    const done = last.then(run);
    last = done.then(yieldIfDue, yieldIfDue);
    return done;
  }

  return {
    inOrder,
    enqueue: (run) =>
      inOrder(run).catch((error: unknown) => {
        if (error instanceof Refusal) bridge.tell("message", { level: "warn", text: error.message });
        else log.error("changes:", error);
      }),
  };
}
