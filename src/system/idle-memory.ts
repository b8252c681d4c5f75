/**
 * Collects garbage when the host is idle. V8 collects garbage only when the program requests memory, and an idle host
 * requests none. The first collection, after a client has connected, frees 10 MB that only the start has needed.
 */
import { attempt } from "../base/attempt.ts";

interface IdleMemory {
  /**
   * Must be called when a client has connected or disconnected.
   * @param isUsed whether a client is connected
   */
  changed(isUsed: boolean): void;
  /** Stops the timer. Idempotent. */
  close(): void;
}

/**
 * Creates the timer for garbage collections.
 * @param delayMs delay of a collection (ms), with a client (`used`) and without clients (`unused`)
 */
export function createIdleMemory(delayMs = { used: 3_000, unused: 10 * 60_000 }): IdleMemory {
  let timer: NodeJS.Timeout | undefined;
  return {
    changed(isUsed) {
      clearTimeout(timer);
      timer = setTimeout(collectGarbage, isUsed ? delayMs.used : delayMs.unused).unref();
    },
    close: () => clearTimeout(timer),
  };
}

/** Blocks this process for about 60 ms. Uses the inspector, because Node offers no other way to collect garbage. */
function collectGarbage(): void {
  const inspector = loadInspector();
  if (!inspector) return;
  const session = new inspector.Session();
  session.connect();
  // Disconnects after the callback: Node 20 to 24 hang if the session is disconnected inside the callback.
  session.post("HeapProfiler.collectGarbage", () => setImmediate(() => session.disconnect()));
}

/**
 * Loads the inspector when it is first needed, because it takes 2 MB and 10 ms.
 * @returns undefined if this Node has no inspector or is older than 20.16
 */
function loadInspector(): typeof import("node:inspector") | undefined {
  return attempt(() => process.getBuiltinModule?.("node:inspector"));
}
