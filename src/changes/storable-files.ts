/** Decides whether the text of a file may be stored: only if the file is known to be shared with agents. */
import { createFiles, type SharingSnapshot } from "../sharing/files.ts";

/** Time for which a check of the ignore files stays cached. */
const VERDICT_CACHE_TIME_MS = 1_000;

interface StorableFiles {
  /** Returns whether the text of a file may be stored. The file may be missing. */
  mayStore(path: string): boolean;
  /** Idempotent. */
  close(): void;
}

/** @param exclude patterns of files that must not be shared with agents */
export function createStorableFiles(exclude: readonly string[]): StorableFiles {
  const files = createFiles({ judgesMissing: true });
  let cached: { verdictOf: SharingSnapshot; at: number } | undefined;

  return {
    mayStore(path) {
      const now = performance.now();
      if (!cached || now - cached.at > VERDICT_CACHE_TIME_MS)
        cached = { verdictOf: files.takeSnapshot(exclude), at: now };
      return cached.verdictOf(path) === "shared";
    },
    close: files.close,
  };
}
