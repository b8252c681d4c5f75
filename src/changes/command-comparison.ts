/**
 * Finds the files that an agent's shell command has changed. Compares the files with a snapshot from before the
 * command.
 */
import type { Stats } from "node:fs";
import { basename } from "node:path";
import { createYielder } from "../base/work-slices.ts";
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
import { BELOW_LINK, repositoriesIn, type TreeSnapshot } from "./tree-snapshot.ts";
import { listFiles, NOT_UTF8 } from "./untracked-directories.ts";
import {
  areReal,
  candidatesAt,
  cleanBytes,
  createFilter,
  type Found,
  isBelow,
  lookAt,
  nameIn,
  pathIn,
  readIndex,
  type Scope,
  untrackedFiles,
} from "./work-tree.ts";

/**
 * Maximum number of files that are listed for a command. If a command such as `git checkout` changes more files, only
 * the number of files is reported.
 */
const MAX_LISTED_CHANGES = 5_000;

/** Maximum total size of earlier file contents that are read from one Git repository (bytes). */
const MAX_TEXT_BYTES = 32 * 1024 * 1024;
export const TOO_MUCH = "the command changed too much at once";

/** A file that a command has changed. */
export interface Touched {
  readonly path: string;
  /** State of the file before the command. */
  readonly before: FileState;
}

interface Comparison {
  readonly touched: readonly Touched[];
  /** Reasons why changes may be missing, such as "Git did not answer after a command". */
  readonly gaps: readonly string[];
}

interface ComparisonOptions {
  readonly snapshot: Snapshot;
  /**
   * For each file that the user or another agent has written since the snapshot: its state after the write. The keys
   * are absolute paths.
   */
  readonly settled: ReadonlyMap<string, FileState>;
  /** Inodes of files whose content before the command is known. An inode still identifies a file after a rename. */
  readonly noticed: ReadonlySet<number>;
  readonly scope: Scope;
}

/** A file that differs from its entry in Git's index. */
interface Changed {
  readonly entry: IndexEntry;
  readonly found: Found;
  /** Permission bits of the file before the command. */
  readonly mode: number;
  /** True if the file was compared with Git's index before the command, and did not differ. */
  readonly isKnown: boolean;
}

/** A changed file at a path that was known before the command. */
interface Earlier extends Touched {
  /**
   * Inode of a file that is no longer at its path. A file at another path with this inode is either the renamed file,
   * or a new file that reuses the inode.
   */
  readonly goneInode?: number | undefined;
}

/** State of a file before a command. `inode`: set if the file existed, and may have been moved to another path. */
interface Before extends Touched {
  readonly inode?: number | undefined;
}

export async function compare({ snapshot, settled, noticed, scope }: ComparisonOptions): Promise<Comparison> {
  const { trees, since, outside } = snapshot;
  const base = new Map([...snapshot.files, ...settled]);
  const isNew = (path: string) => !base.has(path);
  const inFiles = await changedSince(base);
  const inTrees = await Promise.all(trees.map((tree) => compareTree(tree, since, scope, isNew)));
  const listing = await listFiles(outside);
  const earlier = [...inFiles, ...inTrees.flatMap(({ changed }) => changed)];
  const names = [...inTrees.flatMap(({ names }) => names), ...listing.paths].filter(isNew);
  const known = new Set([...noticed, ...replacedInodes(snapshot, settled)]);
  const made = await newFiles(names, since, renamedFiles(earlier, known));
  const gaps = new Set([
    ...snapshot.gaps,
    ...inTrees.flatMap(({ gaps }) => gaps),
    ...(listing.isComplete ? [] : [TOO_MANY]),
    ...(listing.hasUnnamed ? [NOT_UTF8] : []),
  ]);
  if (made.length > MAX_LISTED_CHANGES) gaps.add(`a command created ${made.length} files`);
  const all = [...earlier, ...(made.length > MAX_LISTED_CHANGES ? [] : made)];
  const real = await areReal(all.map(({ path }) => path));
  // Leaves out paths below a symbolic link. Exception: if the command has replaced a folder by a link, the files of the
  // folder are listed as deleted.
  const wasReal = ({ before }: Touched, i: number) => i < earlier.length && before.version !== BELOW_LINK;
  return { touched: all.filter((one, i) => real[i] || wasReal(one, i)), gaps: [...gaps] };
}

/**
 * Returns the inodes of files that the user or another agent has written, as they were before the command. If such an
 * inode is at another path now, the command has moved the file there before the write.
 */
function replacedInodes({ files, trees }: Snapshot, settled: ReadonlyMap<string, FileState>): number[] {
  const states = [...settled.keys()].flatMap((path) => files.get(path) ?? []);
  const inodes = states.filter(({ kind }) => kind === "known").map(inodeOf);
  for (const tree of trees) {
    const { top, entries, looked } = tree;
    const names = new Set(
      [...settled.keys()].filter((path) => isBelow(path, top)).map((path) => nameIn(top, path)),
    );
    if (names.size === 0) continue;
    for (const { name, inode, isRegular } of entries.slice(0, looked))
      if (names.has(name) && isRegular && !files.has(pathIn(tree, name))) inodes.push(inode);
  }
  return inodes;
}

/**
 * Returns the states that some files had before a command that is still running. Leaves out files that still match
 * Git's index, and files whose earlier state is unknown.
 */
export async function statesBefore(
  paths: readonly string[],
  { snapshot, settled, noticed, scope }: ComparisonOptions,
): Promise<Before[]> {
  const { files, trees, since } = snapshot;
  const states: Before[] = [];
  const asked = new Set<string>();
  for (const path of paths) {
    const before = settled.get(path) ?? files.get(path);
    if (before) states.push({ path, before, inode: inodeOf(before) });
    else asked.add(path);
  }
  if (asked.size === 0) return states;
  // Also looks for the earlier paths of these files, because the command may have moved the files.
  const inodes = new Set<number>();
  for (const { found } of await candidatesAt([...asked]))
    if (typeof found === "object") inodes.add(inodeOf(found));
  const sources = await changedSince(new Map([...files].filter(([, state]) => inodes.has(inodeOf(state)))));
  for (const tree of trees) {
    const isWanted = ({ name, inode }: IndexEntry) =>
      asked.has(pathIn(tree, name)) || inodes.has(inode) || isAttributes(name);
    const part = await partOf(tree, isWanted);
    for (const { name } of part.entries) asked.delete(pathIn(tree, name));
    const changed = await changedEntries(part, since, () => true);
    const isConverted = changed.some(({ entry }) => isAttributes(entry.name));
    const known = (await withBytes(tree, changed, isConverted)).filter(
      ({ before }) => before.kind === "known",
    );
    sources.push(...known);
    states.push(...known.map(({ path, before, goneInode: inode }) => ({ path, before, inode })));
  }
  const isOpen = await createFilter(scope, "/");
  const others = [...asked].filter((path) => isOpen(nameIn("/", path)));
  for (const { path, before } of await newFiles(others, since, renamedFiles(sources, noticed)))
    if (before.kind === "absent") states.push({ path, before });
  return states;
}

/** Returns a snapshot of a tree with only some of its entries. */
async function partOf(tree: TreeSnapshot, isWanted: (entry: IndexEntry) => boolean): Promise<TreeSnapshot> {
  const places: number[] = [];
  const yieldIfDue = createYielder();
  for (const [at, entry] of tree.entries.entries()) {
    const pausing = yieldIfDue();
    if (pausing) await pausing;
    if (isWanted(entry)) places.push(at);
  }
  return {
    ...tree,
    entries: places.flatMap((at) => tree.entries[at] ?? []),
    looked: places.filter((at) => at < tree.looked).length,
    modes: Uint16Array.from(places, (at) => tree.modes[at] ?? 0),
  };
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

interface TreeComparison {
  readonly changed: readonly Earlier[];
  /**
   * Absolute paths of possibly new files: Git lists them now, and the index did not contain them before the command.
   */
  readonly names: readonly string[];
  readonly gaps: readonly string[];
}

async function compareTree(
  tree: TreeSnapshot,
  since: number,
  scope: Scope,
  isNew: (path: string) => boolean,
): Promise<TreeComparison> {
  const [index, untracked] = await Promise.all([readIndex(tree), untrackedFiles(tree)]);
  const isOpen = await createFilter(scope, tree.top);
  const names = newNames(tree, index, untracked?.files ?? []).filter(isOpen);
  const changed = await changedEntries(tree, since, isNew);
  const gaps = index && untracked ? [] : ["Git did not answer after a command"];
  if (changed.length > MAX_LISTED_CHANGES) gaps.push(`a command changed ${changed.length} files`);
  if (untracked?.hasUnnamed) gaps.push(NOT_UTF8);
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

/** Finds files that differ from Git's index now, but did not differ before the command. */
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
      // A file that was not checked in time may have differed from the index even before the command. Lists such a file
      // only if its ctime is newer than the snapshot.
      if (isKnown || (stats && stats.ctimeMs >= since))
        changed.push({ entry, found, isKnown, mode: tree.modes[at] ?? entry.mode });
    },
  );
  return changed;
}

/** Returns names that Git lists now, as tracked or untracked, and that the index did not contain before the command. */
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

/** Files that disappeared from their paths during the command, perhaps by a rename. */
interface Renamed {
  /** Inodes of the files whose bytes before the command are known. */
  readonly known: ReadonlySet<number>;
  /**
   * Versions of the files whose earlier bytes are unknown, as returned by {@link withoutRename}. The inode alone is not
   * enough, because a new file may reuse the inode of a deleted file.
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
 * Returns the state that a file outside the snapshot had before the command. If the file may be the only copy of its
 * bytes, returns "unknown", so that undo does not delete the file. An example is an ignored file that was renamed.
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
 * Returns the state of each changed file before the command. The state contains the bytes of the file if Git knows
 * these bytes.
 * @param isConverted true if a .gitattributes file has changed. Git may then convert files in another way than before
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
  const bytes = wanted.size > 0 ? await cleanBytes(tree, [...wanted]) : new Map<string, Buffer>();
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
