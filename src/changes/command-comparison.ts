/** Compares files after a shell command with the snapshot before it. */
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

/** Maximum number of listed files. A command that changes more has replaced the work tree as a whole. */
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
  /** Reasons why changes may be missing, each the end of a sentence. */
  readonly gaps: readonly string[];
}

interface ComparisonOptions {
  readonly snapshot: Snapshot;
  /** States of files that others have written since the snapshot, by absolute path. */
  readonly settled: ReadonlyMap<string, FileState>;
  /** Inodes of files whose bytes before the command are known, in addition to those that the comparison finds. */
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
   * Inode of the file, if the file is no longer at its path. A file with this inode at another path is the renamed
   * file, or a new file that reuses the inode.
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
  // A file whose folder was replaced by a symbolic link is gone. A file that was below a link is not compared.
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
  /** Absolute paths of files that were not in the index before the command, and are tracked or untracked now. */
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

/** Finds files that matched the index before the command, and do not match now. */
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
      // A file that was not checked before the command may have differed from the index for a long time.
      if (isKnown || (stats && stats.ctimeMs >= since))
        changed.push({ entry, found, isKnown, mode: tree.modes[at] ?? entry.mode });
    },
  );
  return changed;
}

/** Finds files that were not in the index before the command, and are tracked or untracked now. */
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

/** Files that were at their paths before the command and are not there any more. */
interface Renamed {
  /** Inodes of the files whose bytes are known. */
  readonly known: ReadonlySet<number>;
  /** Versions of the other files, see {@link withoutRename}: a new file may reuse an inode, but not a version. */
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
 * Returns the state before the command for a path that was not in the snapshot. The state is "unknown" if the file may
 * be the only copy of its bytes, such as a moved file that Git ignored, so that undo does not delete the file.
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
 * Adds the bytes from before the command, as far as Git has them.
 * @param isConverted whether Git's conversion of the bytes may have changed
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
