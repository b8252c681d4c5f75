/**
 * Takes snapshots of Git work trees before a command. Covers the work trees of the CLI's directory and of the
 * directories open in Neovim. Covers repositories inside these work trees, too, such as submodules.
 */
import type { Begun } from "../contract/hooks.ts";
import { realPath } from "../system/file-state.ts";
import type { GitIndex, IndexEntry } from "./git-index.ts";
import { NOT_UTF8 } from "./untracked-directories.ts";
import {
  areReal,
  type Candidate,
  candidatesAt,
  createFilter,
  findWorkTree,
  hasGit,
  isBelow,
  linkedWorkTrees,
  lookAt,
  pathIn,
  readIndex,
  type Scope,
  type Untracked,
  untrackedFiles,
  type WorkTree,
} from "./work-tree.ts";

/** Maximum number of work trees, because Git must run for each of them. */
const MAX_TREES = 16;

export const SLOW = "a command began before all files were checked";
/** Stands for the version of a file whose path leads through a symbolic link. */
export const BELOW_LINK = "ELOOP";
const TOO_MANY_TREES = `there are more than ${MAX_TREES} Git repositories`;

export interface TreeSnapshot extends WorkTree {
  readonly index: GitIndex;
  /** Index entries of the files in directories that are open in Neovim. */
  readonly entries: readonly IndexEntry[];
  /**
   * The first `looked` entries were compared with the files on disk. If the snapshot contains no state of such a file,
   * the file did not differ from the index.
   */
  readonly looked: number;
  /** Permission bits of each entry's file on disk. The index stores only the executable bit. */
  readonly modes: Uint16Array;
  /** Absolute paths of repositories inside this work tree. They have work trees of their own. */
  readonly repositories: readonly string[];
}

interface Trees {
  readonly trees: readonly TreeSnapshot[];
  /** Files that differ from Git's index, and untracked files. */
  readonly differing: readonly Candidate[];
  /** Reasons why changes may be missing, such as "Git's index cannot be read". */
  readonly gaps: readonly string[];
  /** Work trees of the same repositories in ignored folders, as absolute paths. Their files are not compared. */
  readonly ignored: readonly string[];
}

/**
 * Takes the snapshots of all work trees.
 * @param cwd the CLI's directory
 * @param begun aborted when the command begins. No further files are examined then
 */
export async function takeTrees(cwd: string, scope: Scope, begun: Begun): Promise<Trees> {
  const [own = cwd, ...open] = await Promise.all([cwd, ...scope.directories].map(realPath));
  const isNear = (path: string) => open.some((one) => isBelow(path, one) || isBelow(one, path));
  const gaps = new Set<string>();
  const found: WorkTree[] = [];
  const add = (tree: WorkTree) => {
    if (found.some(({ top }) => top === tree.top)) return;
    if (found.length < MAX_TREES) found.push(tree);
    else gaps.add(TOO_MANY_TREES);
  };
  const outer = await Promise.all([...new Set([own, ...open])].map((one) => findWorkTree(one)));
  for (const tree of outer) if (tree) add(tree);

  const trees: TreeSnapshot[] = [];
  const differing: Candidate[] = [];
  for (const one of found) {
    const seen = await lookAtTree(one, scope, begun);
    for (const gap of seen.gaps) gaps.add(gap);
    if (!seen.tree) continue;
    trees.push(seen.tree);
    differing.push(...seen.differing);
    for (const directory of seen.tree.repositories.filter(isNear)) {
      if (begun.aborted || gaps.has(TOO_MANY_TREES)) break;
      const inner = await findWorkTree(directory);
      if (inner?.top === directory) add(inner);
      else gaps.add("a Git repository cannot be read");
    }
  }
  const linked = (await Promise.all(trees.map(linkedWorkTrees))).flat().filter(isNear);
  const listed = [...found.map(({ top }) => top), ...trees.flatMap(({ repositories }) => repositories)];
  const ignored = linked.filter((path) => !listed.includes(path));
  return { trees, differing, gaps: [...gaps], ignored: [...new Set(ignored)] };
}

async function lookAtTree(
  tree: WorkTree,
  scope: Scope,
  begun: Begun,
): Promise<{ tree?: TreeSnapshot; differing: Candidate[]; gaps: string[] }> {
  const [isOpen, index, untracked] = await Promise.all([
    createFilter(scope, tree.top),
    readIndex(tree),
    untrackedFiles(tree),
  ]);
  if (!index) return { differing: [], gaps: ["Git's index cannot be read"] };
  const entries = openEntries(index, isOpen);
  const modes = new Uint16Array(entries.length);
  const differing: Candidate[] = [];
  const isOver = () => begun.aborted;
  let looked = 0;
  await lookAt(
    entries,
    ({ name }) => pathIn(tree, name),
    (entry, found) => {
      const stats = typeof found === "object" ? found : undefined;
      modes[looked++] = stats ? stats.mode & 0o7777 : entry.mode;
      if (!stats || !entry.isSame(stats)) differing.push({ path: pathIn(tree, entry.name), found });
    },
    isOver,
  );
  const others = (untracked?.files ?? []).filter(isOpen).map((name) => pathIn(tree, name));
  const found = await candidatesAt(others, isOver);
  const isWhole = looked === entries.length && found.length === others.length;
  return {
    tree: { ...tree, index, entries, looked, modes, repositories: repositoriesIn(tree, index, untracked) },
    differing: await unlinked([...differing, ...found]),
    gaps: [
      ...(untracked ? [] : ["Git did not list the untracked files"]),
      ...(untracked?.hasUnnamed ? [NOT_UTF8] : []),
      ...(isWhole ? [] : [SLOW]),
    ],
  };
}

/** Returns the absolute paths of repositories inside a work tree, such as checked-out submodules. */
export function repositoriesIn(
  tree: WorkTree,
  index: GitIndex | undefined,
  untracked: Untracked | undefined,
): string[] {
  const submodules = (index?.entries ?? []).filter(({ isRepository }) => isRepository);
  const names = [...submodules.map(({ name }) => name), ...(untracked?.repositories ?? [])];
  return names.map((name) => pathIn(tree, name)).filter(hasGit);
}

/** Marks files whose paths lead through a symbolic link. Such files do not belong to the work tree. */
async function unlinked(candidates: readonly Candidate[]): Promise<Candidate[]> {
  const real = await areReal(candidates.map(({ path }) => path));
  return candidates.map((one, i) => (real[i] ? one : { ...one, found: BELOW_LINK }));
}

function openEntries(index: GitIndex, isOpen: (name: string) => boolean): IndexEntry[] {
  return index.entries.filter(({ name, isRepository }) => !isRepository && isOpen(name));
}
