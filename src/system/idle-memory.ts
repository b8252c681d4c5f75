/**
 * Gives memory back when nothing goes on: V8 looks for garbage when it wants more memory, and a host that waits wants
 * none. Some seconds after a client has come that is what starting and connecting have left behind (10 MB); ten minutes
 * after the last one has gone, what it did.
 */

export interface Rest {
  /** @param isUsed whether a client is connected */
  changed(isUsed: boolean): void;
  /** May run twice. */
  close(): void;
}

/** @param after milliseconds until garbage is collected, with a client and without any */
export function createRest(after = { used: 3_000, unused: 10 * 60_000 }): Rest {
  let timer: NodeJS.Timeout | undefined;
  return {
    changed(isUsed) {
      clearTimeout(timer);
      timer = setTimeout(collectGarbage, isUsed ? after.used : after.unused).unref();
    },
    close: () => clearTimeout(timer),
  };
}

/** Takes about 60 ms of this process's time. The inspector's way is Node's only public one. */
function collectGarbage(): void {
  const inspector = loadInspector();
  if (!inspector) return;
  const session = new inspector.Session();
  session.connect();
  // To disconnect within the callback stops Node 20 to 24 for ever.
  session.post("HeapProfiler.collectGarbage", () => setImmediate(() => session.disconnect()));
}

/** Not imported, as it takes 2 MB and 10 ms of a start; nothing before Node 20.16, and where Node is built without. */
function loadInspector(): typeof import("node:inspector") | undefined {
  try {
    return process.getBuiltinModule?.("node:inspector");
  } catch {
    return undefined;
  }
}
