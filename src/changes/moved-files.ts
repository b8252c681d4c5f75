/** Finds files that the user has moved. A file keeps its inode, size and modification time when it is moved. */
import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { disk } from "../system/disk.ts";
import { realPath } from "../system/file-state.ts";
import { versionOf, withoutRename } from "../system/file-version.ts";
import type { OpenPlaces } from "./commands.ts";
import type { FileChange } from "./file-change.ts";
import { findOutside, listFiles } from "./untracked-directories.ts";
import {
  type Candidate,
  candidatesAt,
  createFilter,
  findWorkTree,
  pathIn,
  readIndex,
  untrackedFiles,
} from "./work-tree.ts";

/**
 * Returns the new path of a moved file. Searches the folder of the file, the open files, and then all files of the open
 * directories that have the same name.
 * @returns undefined if no file has the same content and times, for example because the file was also edited
 */
export type MovedFileSearch = (
  change: Pick<FileChange, "path" | "version">,
  open: OpenPlaces,
) => Promise<string | undefined>;

/**
 * Creates a search for files that were moved together. Lists the files of the open directories at most once.
 * @param except directory of the plugin's own files. These files are not searched
 */
export function createMovedFileSearch(except: string): MovedFileSearch {
  let listed: Promise<string[]> | undefined;

  return async ({ path, version }, { files, directories }) => {
    const folder = dirname(path);
    const names = await disk.run(folder, () => readdir(folder)).catch((): string[] => []);
    const isSame = ({ found }: Candidate) =>
      typeof found === "object" && withoutRename(versionOf(found)) === withoutRename(version);
    const near = await candidatesAt([...files, ...names.map((name) => join(folder, name))]);
    const found = near.find(isSame);
    if (found) return realPath(found.path);
    listed ??= filesIn(directories, except);
    const namesakes = (await listed).filter((other) => basename(other) === basename(path));
    const moved = (await candidatesAt(namesakes)).find(isSame);
    return moved && realPath(moved.path);
  };
}

/** Lists the files of directories, as absolute paths. Leaves out files that Git ignores. */
async function filesIn(directories: readonly string[], except: string): Promise<string[]> {
  const scope = { directories, except };
  const paths: string[] = [];
  const tops = new Set<string>();
  for (const directory of directories) {
    const tree = await findWorkTree(directory);
    if (!tree || tops.has(tree.top)) continue;
    tops.add(tree.top);
    const [index, untracked] = await Promise.all([readIndex(tree), untrackedFiles(tree)]);
    const names = [...(index?.entries ?? []).map(({ name }) => name), ...(untracked?.files ?? [])];
    const isOpen = await createFilter(scope, tree.top);
    for (const name of names) if (isOpen(name)) paths.push(pathIn(tree, name));
  }
  const outside = await listFiles(await findOutside(scope, [...tops]));
  return [...paths, ...outside.paths];
}
