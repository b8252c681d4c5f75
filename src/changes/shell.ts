/** What a shell command does to files, which nobody tells: found by a look before it and one after it. */
import type { Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import { basename, join } from "node:path";
import { disk } from "../system/disk.ts";
import { readVersion } from "../system/disk-text.ts";
import { type DiskFile, readDiskFile, realPath, UNKNOWN } from "./disk-file.ts";
import { cleanBytes, committedFiles, differences, readWorkTree, type WorkTree } from "./work-tree.ts";

/** The agent waits for the first look, but not for long (milliseconds). */
const PATIENCE_BEFORE = 400;
const PATIENCE_AFTER = 5_000;

/** Of files that may change the text is remembered up to this much (characters). */
const MAX_TEXT = 32 * 1024 * 1024;

/** The clock by which files get their times may be so much behind (milliseconds). */
const CLOCK_TICK = 20;

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
  const since = Date.now() - CLOCK_TICK;
  const tree = await readWorkTree(directory, PATIENCE_BEFORE);
  const dirty = [...(tree?.dirty ?? [])].map((name) => join(tree?.top ?? "", name));
  const files = new Map<string, DiskFile>();
  let size = 0;
  for (const named of [...known, ...dirty]) {
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
      const others = tree ? await cleanBefore(tree, since, touched) : [];
      return [...touched, ...others.filter(({ path }) => !files.has(path))];
    },
  };
}

/** The files that were as in the commit which was checked out then, and are others now; also by another commit. */
async function cleanBefore(before: WorkTree, since: number, touched: readonly Touched[]): Promise<Touched[]> {
  const after = await readWorkTree(before.top, PATIENCE_AFTER);
  if (!after) return [];
  const moved = await differences(before, after, PATIENCE_AFTER);
  const names = [...new Set([...after.dirty, ...moved])].filter((name) => !before.dirty.has(name));
  const committed = names.length > 0 && (await committedFiles(before, names, PATIENCE_AFTER));
  if (!committed) return [];
  const regular = [...committed.values()].filter(({ isRegular }) => isRegular);
  // By other attributes the bytes on disk were others, too.
  const isKnown = regular.length > 0 && !names.some((name) => basename(name) === ".gitattributes");
  const bytes = isKnown ? await cleanBytes(before, regular, PATIENCE_AFTER) : new Map<string, Buffer>();
  const pathOf = (name: string) => join(before.top, name);
  const old = [...committed.values()].map(({ name, mode }): Touched => {
    const text = bytes.get(name)?.toString("latin1");
    const file: DiskFile = { kind: "file", text, mode, version: "clean" };
    return { path: pathOf(name), before: text === undefined ? UNKNOWN : file };
  });
  const changed = await filter(old, async ({ path }) => ((await timesOf(path))?.ctimeMs ?? since) >= since);
  const gone = await filter([...touched, ...changed], async ({ path }) => !(await timesOf(path)));
  const texts = new Set(gone.flatMap(({ before }) => before.text ?? []));
  const others = names.filter((name) => !committed.has(name)).map(pathOf);
  const made = await Promise.all(others.map((path) => madeSince(path, since, texts)));
  return [...changed, ...made.flat()];
}

/**
 * A file that no commit has. Git sees it with other eyes perhaps, as when it is ignored no more: to undo that must not
 * take it away.
 * @param gone the texts of files that are gone: this may be one of them, with another name
 */
async function madeSince(path: string, since: number, gone: ReadonlySet<string>): Promise<Touched[]> {
  const times = await timesOf(path);
  if (!times) return [];
  const before: DiskFile = { kind: "absent", version: "ENOENT" };
  const isOld = times.birthtimeMs > 0 && times.birthtimeMs < since;
  if (isOld && gone.size > 0) {
    const { text } = await readDiskFile(path);
    if (text !== undefined && gone.has(text)) return [{ path, before }];
  }
  if (times.ctimeMs < since) return [];
  return [{ path, before: isOld ? UNKNOWN : before }];
}

/** Of a link its own. */
function timesOf(path: string): Promise<Pick<Stats, "ctimeMs" | "birthtimeMs"> | undefined> {
  return disk.run(path, () => lstat(path)).catch(() => undefined);
}

async function filter<T>(list: readonly T[], keep: (one: T) => Promise<boolean>): Promise<T[]> {
  const kept = await Promise.all(list.map(keep));
  return list.filter((_, i) => kept[i]);
}
