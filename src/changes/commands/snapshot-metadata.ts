/** Remembers mode and owner of the files in a snapshot: Git stores only whether a file is executable. */
import type { Stats } from "node:fs";
import { type Metadata, metadataOf } from "../../system/file-state.ts";

export interface SnapshotMetadata {
  /**
   * Remembers the metadata of a file.
   * @returns the earlier metadata; undefined for the usual metadata
   */
  remember(path: string, stats: Stats): Metadata | undefined;
  /** Returns the metadata of a file. @param mode Git's mode of the file */
  of(path: string, mode: string): Metadata | undefined;
  /** Returns the metadata that most files have. @param mode Git's mode of the files */
  usual(mode: string): Metadata | undefined;
  forget(): void;
}

export function createSnapshotMetadata(): SnapshotMetadata {
  /** The usual metadata by Git's mode. `others` contains only the files that differ. */
  const usual = new Map<string, Metadata>();
  const others = new Map<string, Metadata>();

  return {
    remember(path, stats) {
      const now = metadataOf(stats);
      const mode = gitMode(stats);
      if (!usual.has(mode)) usual.set(mode, now);
      const earlier = others.get(path);
      if (isSame(usual.get(mode), now)) others.delete(path);
      else others.set(path, now);
      return earlier;
    },
    of: (path, mode) => others.get(path) ?? usual.get(mode),
    usual: (mode) => usual.get(mode),
    forget() {
      usual.clear();
      others.clear();
    },
  };
}

function gitMode(stats: Stats): string {
  if (stats.isSymbolicLink()) return "120000";
  return stats.mode & 0o100 ? "100755" : "100644";
}

function isSame(a: Metadata | undefined, b: Metadata): boolean {
  return a?.mode === b.mode && a.uid === b.uid && a.gid === b.gid;
}
