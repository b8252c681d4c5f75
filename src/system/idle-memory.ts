/**
 * Collects garbage when the host is idle. V8 would not: it collects garbage only when memory is requested, and an idle
 * host requests none. The collection after the first client has connected frees 10 MB that the start has used.
 */

interface IdleMemory {
  /** @param isUsed whether a client is connected */
  changed(isUsed: boolean): void;
  /** Idempotent. */
  close(): void;
}

/** @param delayMs milliseconds until garbage is collected, with a client and without clients */
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
  // Disconnects later, because Node 20 to 24 hang if the session is disconnected in the callback.
  session.post("HeapProfiler.collectGarbage", () => setImmediate(() => session.disconnect()));
}

/**
 * Loads the inspector on first use, because it takes 2 MB and 10 ms.
 * @returns undefined if this Node lacks it or is older than 20.16
 */
function loadInspector(): typeof import("node:inspector") | undefined {
  try {
    return process.getBuiltinModule?.("node:inspector");
  } catch {
    return undefined;
  }
}
