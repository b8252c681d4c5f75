/** What a shell command does to files, which nobody tells: found by a look before it and one after it. */
import { readVersion } from "../ide/disk-text.ts";
import { type DiskFile, readDiskFile, realPath } from "./disk-file.ts";
import { cleanBytes, readWorkTree, type WorkTree } from "./work-tree.ts";

/** The agent waits for the first look, but not for long (milliseconds). */
const PATIENCE_BEFORE = 400;
const PATIENCE_AFTER = 5_000;

/** Of files that may change the text is remembered up to this much (characters). */
const MAX_TEXT = 32 * 1024 * 1024;

/** A file that a command has changed. */
export interface Touched {
  readonly path: string;
  /** As it was before the command. */
  readonly before: DiskFile;
}

export interface ShellLook {
  /** The user has written this file meanwhile. */
  written(path: string, found: DiskFile): void;
  /** Looks again. @returns the files that are others now */
  compare(): Promise<Touched[]>;
}

/**
 * Looks at the files that a command may change: those that are known, and those of the Git work tree.
 * @param directory where the command runs
 * @param known absolute paths
 */
export async function lookBefore(directory: string, known: readonly string[]): Promise<ShellLook> {
  const tree = await readWorkTree(directory, PATIENCE_BEFORE);
  const files = new Map<string, DiskFile>();
  let size = 0;
  for (const named of [...known, ...(tree?.dirty.keys() ?? [])]) {
    const path = await realPath(named);
    if (files.has(path)) continue;
    const found = await readDiskFile(path);
    size += found.text?.length ?? 0;
    files.set(path, size > MAX_TEXT ? { ...found, kind: "unknown", text: undefined } : found);
  }
  return {
    written(path, found) {
      if (files.has(path)) files.set(path, found);
    },
    async compare() {
      const touched: Touched[] = [];
      for (const [path, before] of files)
        if ((await readVersion(path)) !== before.version) touched.push({ path, before });
      const dirtied = tree ? await dirtiedSince(directory, tree) : [];
      return [...touched, ...dirtied.filter(({ path }) => !files.has(path))];
    },
  };
}

/** The files that were clean before. Another commit that is checked out says nothing of who changed what. */
async function dirtiedSince(directory: string, before: WorkTree): Promise<Touched[]> {
  const after = await readWorkTree(directory, PATIENCE_AFTER);
  if (!after || after.head !== before.head) return [];
  const dirtied = [...after.dirty.values()].filter(({ path }) => !before.dirty.has(path));
  const committed = dirtied.filter(({ object }) => object !== undefined);
  const bytes =
    committed.length > 0 ? await cleanBytes(after, committed, PATIENCE_AFTER) : new Map<string, Buffer>();
  return Promise.all(
    dirtied.map(async ({ path, object, mode }): Promise<Touched> => {
      const real = await realPath(path);
      if (object === undefined) return { path: real, before: { kind: "absent", version: "ENOENT" } };
      const text = bytes.get(path)?.toString("latin1");
      const kind = text === undefined ? "unknown" : "file";
      return { path: real, before: { kind, text, mode, version: "clean" } };
    }),
  );
}
