/** What a shell command did to files: what they are after it, beside the snapshot from before it. */
import type { Stats } from "node:fs";
import { basename } from "node:path";
import {
  ABSENT,
  inodeOf,
  MAX_FILE,
  NOT_REGULAR,
  type Sighting,
  TOO_LONG,
  unknown,
} from "../system/sighting.ts";
import { versionOf } from "../system/version.ts";
import { NOT_KNOWN } from "./file-change.ts";
import type { GitIndex, IndexEntry } from "./git-index.ts";
import { LATE, type Snapshot, type TreeSnapshot } from "./snapshot.ts";
import {
  areReal,
  cleanBytes,
  createFilter,
  type Found,
  lookAt,
  pathIn,
  type Scope,
  untrackedFiles,
  type WorkTree,
} from "./work-tree.ts";

/** Git answers in less (ms). */
const GIT_TIMEOUT_MS = 5_000;

/** Files that are listed; a command that changes more has changed the work tree as a whole. */
const MAX_FILES = 5_000;

/** Bytes of files from before that Git is asked for. */
const MAX_TEXT = 32 * 1024 * 1024;
const FULL = "the command changed too much at once";

/** A file that a command has changed. */
export interface Touched {
  readonly path: string;
  /** As it was before the command. */
  readonly before: Sighting;
}

export interface Comparison {
  readonly touched: readonly Touched[];
  /** Why there may be more, each the end of a sentence. */
  readonly gaps: readonly string[];
}

export interface ComparisonOptions {
  readonly snapshot: Snapshot;
  /** What became of files since the snapshot that is not the command's doing, by absolute path. */
  readonly settled: ReadonlyMap<string, Sighting>;
  readonly scope: Scope;
  readonly readIndex: (tree: WorkTree) => Promise<GitIndex | undefined>;
}

interface Changed {
  readonly entry: IndexEntry;
  readonly found: Found;
  /** Permission bits from before. */
  readonly mode: number;
  readonly isKnown: boolean;
}

export async function compare(options: ComparisonOptions): Promise<Comparison> {
  const { snapshot, settled } = options;
  const base = new Map([...snapshot.files, ...settled]);
  const touched: Touched[] = [];
  /** Of files that are gone: one of them may have another name now. */
  const gone = new Set<number>();
  await lookAt(
    [...base],
    ([path]) => path,
    ([path, before], found) => {
      if (versionIn(found) === before.version) return;
      touched.push({ path, before });
      if (!found) gone.add(inodeOf(before));
    },
  );
  if (!snapshot.tree) return { touched, gaps: snapshot.gaps };
  const { tree, since } = { ...snapshot, tree: snapshot.tree };
  const [index, untracked] = await Promise.all([
    options.readIndex(tree),
    untrackedFiles(tree, GIT_TIMEOUT_MS),
  ]);
  const changed = await changedEntries(tree, since, base);
  for (const { entry, found } of changed) if (!found) gone.add(entry.inode);
  const isOpen = await createFilter(options.scope, tree.top);
  const names = newNames(tree, index, untracked ?? []).filter(
    (name) => isOpen(name) && !base.has(pathIn(tree, name)),
  );
  const made: Touched[] = [];
  await lookAt(
    names,
    (name) => pathIn(tree, name),
    (name, found) => {
      const before = typeof found === "object" && beforeNew(found, since, gone);
      if (before) made.push({ path: pathIn(tree, name), before });
    },
  );
  const gaps = [...snapshot.gaps, ...(index && untracked ? [] : ["Git did not answer after a command"])];
  const count = changed.length + made.length;
  if (count > MAX_FILES) return { touched, gaps: [...gaps, `a command changed ${count} files at once`] };
  const isConverted = [...changed.map(({ entry }) => entry.name), ...names].some(isAttributes);
  const all = [...touched, ...(await withBytes(tree, changed, isConverted)), ...made];
  const real = await areReal(all.map(({ path }) => path));
  return { touched: all.filter((_, i) => real[i]), gaps };
}

function versionIn(found: Found): string {
  return typeof found === "object" ? versionOf(found) : (found ?? ABSENT.version);
}

/** Files that were as in the index, and are others now. */
async function changedEntries(
  tree: TreeSnapshot,
  since: number,
  base: ReadonlyMap<string, Sighting>,
): Promise<Changed[]> {
  const changed: Changed[] = [];
  await lookAt(
    tree.entries.map((entry, at) => ({ entry, at })),
    ({ entry }) => pathIn(tree, entry.name),
    ({ entry, at }, found) => {
      const stats = typeof found === "object" ? found : undefined;
      if ((stats && entry.isSame(stats)) || base.has(pathIn(tree, entry.name))) return;
      const isKnown = at < tree.looked;
      // What nobody looked at before may have been other than in the index for long.
      if (isKnown || (stats && stats.ctimeMs >= since))
        changed.push({ entry, found, isKnown, mode: tree.modes[at] ?? entry.mode });
    },
  );
  return changed;
}

/** Files that Git knows of now, tracked or not, and that it did not track before. */
function newNames(tree: TreeSnapshot, index: GitIndex | undefined, untracked: readonly string[]): string[] {
  const isSame = index === undefined || index === tree.index;
  if (isSame && untracked.length === 0) return [];
  const before = new Set(tree.index.entries.map(({ name }) => name));
  const tracked = isSame ? [] : index.entries.filter(({ isRepository }) => !isRepository);
  return [...new Set([...tracked.map(({ name }) => name), ...untracked])].filter((name) => !before.has(name));
}

/**
 * What a file was before that Git did not know then. Perhaps it was ignored: to undo what was done to it must not take it
 * away.
 * @returns nothing for one that is as it was
 */
function beforeNew(found: Stats, since: number, gone: ReadonlySet<number>): Sighting | undefined {
  if (found.birthtimeMs >= since || gone.has(inodeOf(found))) return ABSENT;
  return found.ctimeMs >= since ? unknown(NOT_KNOWN) : undefined;
}

function isAttributes(name: string): boolean {
  return basename(name) === ".gitattributes";
}

/** @param isConverted git may say otherwise now how bytes are converted */
async function withBytes(
  tree: TreeSnapshot,
  changed: readonly Changed[],
  isConverted: boolean,
): Promise<Touched[]> {
  let room = MAX_TEXT;
  const wanted = new Set<IndexEntry>();
  const reasons = new Map<IndexEntry, string>();
  for (const { entry, isKnown } of changed) {
    const reason = reasonAgainst(entry, isKnown, isConverted) ?? (entry.size > room ? FULL : undefined);
    if (reason) reasons.set(entry, reason);
    else {
      wanted.add(entry);
      room -= entry.size;
    }
  }
  const bytes =
    wanted.size > 0 ? await cleanBytes(tree, [...wanted], GIT_TIMEOUT_MS) : new Map<string, Buffer>();
  return changed.map(({ entry, mode }) => {
    const text = wanted.has(entry) ? bytes.get(entry.name)?.toString("latin1") : undefined;
    const metadata = { mode, uid: entry.uid, gid: entry.gid };
    const before: Sighting =
      text === undefined
        ? { ...unknown(reasons.get(entry) ?? NOT_KNOWN), metadata }
        : { kind: "known", text, metadata, version: "as in Git" };
    return { path: pathIn(tree, entry.name), before };
  });
}

function reasonAgainst(entry: IndexEntry, isKnown: boolean, isConverted: boolean): string | undefined {
  if (!entry.isRegular) return NOT_REGULAR;
  if (!isKnown) return LATE;
  if (isConverted) return NOT_KNOWN;
  return entry.size > MAX_FILE ? TOO_LONG : undefined;
}
