/**
 * Collects garbage when the host is idle. V8 collects garbage only when it needs memory, which an idle host
 * does not. The collection after the first client has connected frees 10 MB that the start used.
 */

interface IdleMemory {
  /** @param isUsed whether a client is connected */
  changed(isUsed: boolean): void;
  /** May run twice. */
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

/** Blocks this process for about 60 ms. Node offers this only through its inspector. */
function collectGarbage(): void {
  const inspector = loadInspector();
  if (!inspector) return;
  const session = new inspector.Session();
  session.connect();
  // Node 20 to 24 hang if the session is disconnected in the callback.
  session.post("HeapProfiler.collectGarbage", () => setImmediate(() => session.disconnect()));
}

/** Loads the inspector on first use: it takes 2 MB and 10 ms. Undefined before Node 20.16 or if Node lacks it. */
function loadInspector(): typeof import("node:inspector") | undefined {
  try {
    return process.getBuiltinModule?.("node:inspector");
  } catch {
    return undefined;
  }
}
