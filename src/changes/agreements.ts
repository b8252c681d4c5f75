/** Stores the texts that the user has accepted for files and that no agent has written yet. */
import { hashOfPlain } from "../system/disk-text.ts";
import type { FileState } from "../system/file-state.ts";

interface Agreements {
  /** Adds texts that the user has accepted for a file. @param hashes the hashes of these texts */
  add(path: string, hashes: readonly string[]): void;
  /** Returns whether the user has accepted this text for the file. */
  has(path: string, now: FileState): boolean;
  /** Like `has`, but also forgets the accepted texts of the file, because an agent has now written the file. */
  take(path: string, now: FileState): boolean;
  /** Forgets all accepted texts. Must be called when no agent works, because none of them is then written. */
  clear(): void;
}

export function createAgreements(): Agreements {
  /** Hashes of the accepted texts, by path. */
  const hashesOf = new Map<string, ReadonlySet<string>>();

  function has(path: string, now: FileState): boolean {
    const hashes = hashesOf.get(path);
    if (now.kind !== "known" || !hashes) return false;
    return hashes.has(hashOfPlain(Buffer.from(now.text, "latin1")));
  }

  return {
    add: (path, hashes) => void hashesOf.set(path, new Set([...(hashesOf.get(path) ?? []), ...hashes])),
    has,
    take(path, now) {
      const isAccepted = has(path, now);
      if (now.kind === "known") hashesOf.delete(path);
      return isAccepted;
    },
    clear: () => hashesOf.clear(),
  };
}
