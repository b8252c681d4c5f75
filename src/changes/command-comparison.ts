/** Finds the files that a shell command has changed: compares them with the snapshot from before the command. */
import type { Stats } from "node:fs";
import { basename } from "node:path";
import {
  ABSENT,
  type FileState,
  inodeOf,
  MAX_FILE_BYTES,
  NOT_REGULAR,
  TOO_LONG,
  unknown,
} from "../system/file-state.ts";
import { versionOf, withoutRename } from "../system/file-version.ts";
import { LATE, type Snapshot, TOO_MANY } from "./command-snapshot.ts";
import { NOT_KNOWN } from "./file-change.ts";
import type { GitIndex, IndexEntry } from "./git-index.ts";
import { BELOW_LINK, GIT_TIMEOUT_MS, repositoriesIn, type TreeSnapshot } from "./tree-snapshot.ts";
import { listFiles } from "./untracked-directories.ts";
import {
  areReal,
  cleanBytes,
  createFilter,
  type Found,
  lookAt,
  pathIn,
  type ReadIndex,
  type Scope,
  untrackedFiles,
} from "./work-tree.ts";

/**
 * Maximum number of files that are listed for a command. A command that changes more, such as a checkout, is not listed
 * by file.
 */
const MAX_LISTED_CHANGES = 5_000;

/** Maximum size of earlier contents requested from Git (bytes). */
const MAX_TEXT_BYTES = 32 * 1024 * 1024;
export const TOO_MUCH = "the command changed too much at once";

/** A file that a command has changed. */
export interface Touched {
  readonly path: string;
  /** State before the command. */
  readonly before: FileState;
}

interface Comparison {
  readonly touched: readonly Touched[];
  /** Reasons why changes may be missing, each worded as the end of a sentence. */
  readonly gaps: readonly string[];
}

interface ComparisonOptions {
  readonly snapshot: Snapshot;
  /**
   * Files that somebody other than the command has written since the snapshot: their states after these writes, by
   * absolute path.
   */
  readonly settled: ReadonlyMap<string, FileState>;
  /**
   * Files whose content before the command is known, in addition to those that the comparison finds. Identified by
   * inode, because the command may have renamed them.
   */
  readonly noticed: ReadonlySet<number>;
  readonly scope: Scope;
  readonly readIndex: ReadIndex;
}

/** A file that differs from its entry in the index. */
interface Changed {
  readonly entry: IndexEntry;
  readonly found: Found;
  /** Permission bits before the command. */
  readonly mode: number;
  /** Whether the file was checked before the command, and matched the index. */
  readonly isKnown: boolean;
}

/** A file that existed before the command. */
interface Earlier extends Touched {
  /**
   * Inode of the file, if the file is no longer at its path. If a file at another path has this inode, it is the same
   * file after a rename, or a new file that has got the freed inode.
   */
  readonly goneInode?: number | undefined;
}

export async function compare({
  snapshot,
  settled,
  noticed,
  scope,
  readIndex,
}: ComparisonOptions): Promise<Comparison> {
  const { trees, since, outside } = snapshot;
  const base = new Map([...snapshot.files, ...settled]);
  const isNew = (path: string) => !base.has(path);
  const known = await changedSince(base);
  const inTrees = await Promise.all(
    trees.map((tree) => compareTree(tree, since, { isNew, scope, readIndex })),
  );
  const listing = await listFiles(outside);
  const earlier = [...known, ...inTrees.flatMap(({ changed }) => changed)];
  const names = [...inTrees.flatMap(({ names }) => names), ...listing.paths].filter(isNew);
  const made = await newFiles(names, since, renamedFiles(earlier, noticed));
  const gaps = new Set([
    ...snapshot.gaps,
    ...inTrees.flatMap(({ gaps }) => gaps),
    ...(listing.isComplete ? [] : [TOO_MANY]),
  ]);
  if (made.length > MAX_LISTED_CHANGES) gaps.add(`a command created ${made.length} files`);
  const all = [...earlier, ...(made.length > MAX_LISTED_CHANGES ? [] : made)];
  const real = await areReal(all.map(({ path }) => path));
  // Paths below a symbolic link are left out, with one exception: if the command has replaced a folder by a link, the
  // files that were in the folder are listed as gone.
  const wasReal = ({ before }: Touched, i: number) => i < earlier.length && before.version !== BELOW_LINK;
  return { touched: all.filter((one, i) => real[i] || wasReal(one, i)), gaps: [...gaps] };
}

async function changedSince(base: ReadonlyMap<string, FileState>): Promise<Earlier[]> {
  const changed: Earlier[] = [];
  await lookAt(
    [...base],
    ([path]) => path,
    ([path, before], found) => {
      if (versionIn(found) === before.version) return;
      changed.push({ path, before, goneInode: goneInode(inodeOf(before), found) });
    },
  );
  return changed;
}

interface TreeOptions extends Pick<ComparisonOptions, "scope" | "readIndex"> {
  isNew(path: string): boolean;
}

interface TreeComparison {
  readonly changed: readonly Earlier[];
  /** Absolute paths of files that are in the index or untracked now, and were not in the index before the command. */
  readonly names: readonly string[];
  readonly gaps: readonly string[];
}

async function compareTree(
  tree: TreeSnapshot,
  since: number,
  { isNew, scope, readIndex }: TreeOptions,
): Promise<TreeComparison> {
  const [index, untracked] = await Promise.all([readIndex(tree), untrackedFiles(tree, GIT_TIMEOUT_MS)]);
  const isOpen = await createFilter(scope, tree.top);
  const names = newNames(tree, index, untracked?.files ?? []).filter(isOpen);
  const changed = await changedEntries(tree, since, isNew);
  const gaps = index && untracked ? [] : ["Git did not answer after a command"];
  if (changed.length > MAX_LISTED_CHANGES) gaps.push(`a command changed ${changed.length} files`);
  const known = new Set(tree.repositories);
  if (repositoriesIn(tree, index, untracked).some((one) => !known.has(one)))
    gaps.push("a command created a Git repository");
  const isConverted = [...changed.map(({ entry }) => entry.name), ...names].some(isAttributes);
  return {
    changed: changed.length > MAX_LISTED_CHANGES ? [] : await withBytes(tree, changed, isConverted),
    names: names.map((name) => pathIn(tree, name)),
    gaps,
  };
}

function versionIn(found: Found): string {
  return typeof found === "object" ? versionOf(found) : (found ?? ABSENT.version);
}

/** Finds files that differ from the index, and matched it before the command. */
async function changedEntries(
  tree: TreeSnapshot,
  since: number,
  isNew: (path: string) => boolean,
): Promise<Changed[]> {
  const changed: Changed[] = [];
  await lookAt(
    tree.entries.map((entry, at) => ({ entry, at })),
    ({ entry }) => pathIn(tree, entry.name),
    ({ entry, at }, found) => {
      const stats = typeof found === "object" ? found : undefined;
      if ((stats && entry.isSame(stats)) || !isNew(pathIn(tree, entry.name))) return;
      const isKnown = at < tree.looked;
      // If the file was not checked before the command, it may have differed from the index even then. Takes it only if
      // its ctime shows that it was changed since.
      if (isKnown || (stats && stats.ctimeMs >= since))
        changed.push({ entry, found, isKnown, mode: tree.modes[at] ?? entry.mode });
    },
  );
  return changed;
}

/** Finds files that are in the index or untracked now, and were not in the index before the command. */
function newNames(tree: TreeSnapshot, index: GitIndex | undefined, untracked: readonly string[]): string[] {
  const isSame = index === undefined || index === tree.index;
  if (isSame && untracked.length === 0) return [];
  const before = new Set(tree.index.entries.map(({ name }) => name));
  const tracked = isSame ? [] : index.entries.filter(({ isRepository }) => !isRepository);
  return [...new Set([...tracked.map(({ name }) => name), ...untracked])].filter((name) => !before.has(name));
}

function goneInode(before: number, found: Found): number | undefined {
  return typeof found === "object" && inodeOf(found) === before ? undefined : before;
}

/** Files that are no longer at the paths that they had before the command. They may have been renamed. */
interface Renamed {
  /** Inodes of the files whose earlier bytes are known. */
  readonly known: ReadonlySet<number>;
  /**
   * The other files, identified by {@link withoutRename} of their versions, because a new file may have got the inode
   * of a deleted one.
   */
  readonly unknown: ReadonlySet<string>;
}

function renamedFiles(earlier: readonly Earlier[], noticed: ReadonlySet<number>): Renamed {
  const known = new Set(noticed);
  const unknown = new Set<string>();
  for (const { goneInode, before } of earlier) {
    if (goneInode === undefined) continue;
    if (before.kind === "known") known.add(goneInode);
    else unknown.add(withoutRename(before.version));
  }
  return { known, unknown };
}

async function newFiles(paths: readonly string[], since: number, renamed: Renamed): Promise<Touched[]> {
  const made: Touched[] = [];
  await lookAt(
    paths,
    (path) => path,
    (path, found) => {
      const before = typeof found === "object" && beforeNew(found, since, renamed);
      if (before) made.push({ path, before });
    },
  );
  return made;
}

/**
 * Returns the state that a path outside the snapshot had before the command. If the file may be the only copy of its
 * bytes, such as a renamed file that Git had ignored, the state is "unknown", so that an undo does not delete the file.
 * @returns undefined if the file has not changed
 */
function beforeNew(found: Stats, since: number, { known, unknown: others }: Renamed): FileState | undefined {
  if (known.has(inodeOf(found))) return ABSENT;
  const isRenamed = others.has(withoutRename(versionOf(found)));
  if (found.birthtimeMs >= since && !isRenamed) return ABSENT;
  return found.ctimeMs >= since || isRenamed ? unknown(NOT_KNOWN) : undefined;
}

function isAttributes(name: string): boolean {
  return basename(name) === ".gitattributes";
}

/**
 * Adds the bytes that the files had before the command, if Git can provide them.
 * @param isConverted whether a .gitattributes file has changed: Git may then convert bytes in another way than before
 */
async function withBytes(
  tree: TreeSnapshot,
  changed: readonly Changed[],
  isConverted: boolean,
): Promise<Earlier[]> {
  let room = MAX_TEXT_BYTES;
  const wanted = new Set<IndexEntry>();
  const reasons = new Map<IndexEntry, string>();
  for (const { entry, isKnown } of changed) {
    const reason = reasonAgainst(entry, isKnown, isConverted) ?? (entry.size > room ? TOO_MUCH : undefined);
    if (reason) reasons.set(entry, reason);
    else {
      wanted.add(entry);
      room -= entry.size;
    }
  }
  const bytes =
    wanted.size > 0 ? await cleanBytes(tree, [...wanted], GIT_TIMEOUT_MS) : new Map<string, Buffer>();
  return changed.map(({ entry, mode, found }) => {
    const text = wanted.has(entry) ? bytes.get(entry.name)?.toString("latin1") : undefined;
    const metadata = { mode, uid: entry.uid, gid: entry.gid };
    const before: FileState =
      text === undefined
        ? { ...unknown(reasons.get(entry) ?? NOT_KNOWN), metadata }
        : { kind: "known", text, metadata, version: "as in Git" };
    return { path: pathIn(tree, entry.name), before, goneInode: goneInode(entry.inode, found) };
  });
}

function reasonAgainst(entry: IndexEntry, isKnown: boolean, isConverted: boolean): string | undefined {
  if (!entry.isRegular) return NOT_REGULAR;
  if (!isKnown) return LATE;
  if (isConverted) return NOT_KNOWN;
  return entry.size > MAX_FILE_BYTES ? TOO_LONG : undefined;
}
