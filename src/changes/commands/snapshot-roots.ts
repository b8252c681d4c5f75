/** Takes snapshots of all directories that a shell command may change, and of the Git repositories inside them. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { realPath } from "../../system/file-state.ts";
import { isBelow } from "../../system/path-relations.ts";
import { deleteUnused } from "./delete-unused.ts";
import { findRoot, linkedWorkTrees, REFUSED } from "./find-root.ts";
import { GitFailure, hasGit } from "./run-git.ts";
import {
  createSnapshotRepository,
  type RepositoryOptions,
  type Snapshot,
  type SnapshotRepository,
} from "./snapshot-repository.ts";

/** Maximum number of directories, because Git must run for each of them. */
const MAX_ROOTS = 16;

export const NO_GIT = "shell commands are not compared without Git 2.32 or later";
const NO_ANSWER = "Git could not compare a directory";

/** Snapshots of several directories at one time. */
export interface Taken {
  readonly snapshots: ReadonlyMap<SnapshotRepository, Snapshot>;
  /** Reasons why changes may be missing. */
  readonly gaps: readonly string[];
}

export interface SnapshotRoots {
  /**
   * Takes snapshots of the files in these directories (real paths). Never rejects.
   * @param before earlier snapshots. Their repositories are included
   */
  take(directories: readonly string[], before?: Taken): Promise<Taken>;
  /** Returns the paths of the files with a name in these directories, except ignored files. Never rejects. */
  filesNamed(name: string, directories: readonly string[]): Promise<string[]>;
  /** Looks for repositories again, because the user may have created some. */
  forget(): void;
  /** Ends the use of the stores. Resolves when Git no longer writes there. Idempotent. */
  close(): Promise<void>;
}

export interface RootsOptions {
  /** Directory of the plugin's own files. It contains the stores. */
  readonly stateDirectory: string;
  /** Id of this Neovim process. */
  readonly instance: string;
  /** Returns whether the text of a file may be stored. */
  mayKeep(path: string): boolean;
  /** See {@link RepositoryOptions}. */
  replaced: RepositoryOptions["replaced"];
}

export function createSnapshotRoots({ stateDirectory, ...options }: RootsOptions): SnapshotRoots {
  const stores = join(stateDirectory, "snapshots");
  const repositories = new Map<string, SnapshotRepository>();
  /** The repository of each directory, and the linked work trees inside it. */
  const found = new Map<string, Promise<{ repository: SnapshotRepository; linked: string[] }>>();
  let except: Promise<string> | undefined;
  let isClosed = false;

  async function open(directory: string) {
    except ??= realPath(stateDirectory);
    deleteUnused(stores);
    const root = await findRoot(directory);
    const name = createHash("sha256").update(`${root.format} ${root.top}`).digest("hex").slice(0, 32);
    const repository =
      repositories.get(root.top) ??
      createSnapshotRepository({ root, directory: join(stores, name), except: await except, ...options });
    repositories.set(root.top, repository);
    return { repository, linked: await linkedWorkTrees(root) };
  }

  function repositoryOf(directory: string) {
    const known = found.get(directory) ?? open(directory);
    found.set(directory, known);
    known.catch(() => found.delete(directory));
    return known;
  }

  /** Takes the snapshot of one directory. @returns the repositories inside */
  async function takeOne(
    directory: string,
    scope: readonly string[],
    snapshots: Map<SnapshotRepository, Snapshot>,
    gaps: Set<string>,
  ): Promise<string[]> {
    try {
      const { repository, linked } = await repositoryOf(directory);
      if (isClosed || snapshots.has(repository)) return [];
      if (snapshots.size === MAX_ROOTS) {
        gaps.add(`${directory} is not compared, because there are more than ${MAX_ROOTS} Git repositories`);
        return [];
      }
      const snapshot = await repository.take(scope);
      snapshots.set(repository, snapshot);
      for (const gap of snapshot.gaps) gaps.add(gap);
      return [...snapshot.nested, ...linked];
    } catch (error) {
      gaps.add(error instanceof GitFailure && error.text === REFUSED ? REFUSED : NO_ANSWER);
      return [];
    }
  }

  return {
    async take(directories, before) {
      const snapshots = new Map<SnapshotRepository, Snapshot>();
      const gaps = new Set<string>();
      if (!(await hasGit())) return { snapshots, gaps: [NO_GIT] };
      if (isClosed) return { snapshots, gaps: [] };
      const isNear = (path: string) => directories.some((one) => isBelow(path, one) || isBelow(one, path));
      const tops = [...(before?.snapshots.keys() ?? [])].map(({ top }) => top);
      const queue = [...new Set([...directories, ...tops])];
      for (const directory of queue) {
        const taken = await takeOne(directory, directories, snapshots, gaps);
        for (const nested of taken.filter(isNear)) if (!queue.includes(nested)) queue.push(nested);
      }
      return { snapshots, gaps: [...gaps] };
    },
    async filesNamed(name, directories) {
      if (!(await hasGit())) return [];
      const listed = directories.map(async (directory) =>
        (await repositoryOf(directory)).repository.filesNamed(name),
      );
      const paths = (await Promise.allSettled(listed)).flatMap((one) =>
        one.status === "fulfilled" ? one.value : [],
      );
      return [...new Set(paths)];
    },
    forget: () => found.clear(),
    async close() {
      isClosed = true;
      await Promise.allSettled(found.values());
      await Promise.all([...repositories.values()].map((repository) => repository.close()));
    },
  };
}
