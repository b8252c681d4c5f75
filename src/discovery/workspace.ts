/** Determines the workspace directories that CLIs get. */
import { delimiter, dirname, join } from "node:path";
import { disk, fileSystem, type Question } from "../system/disk.ts";
import { NoAnswer } from "../system/network-queue.ts";

interface WorkspacePaths {
  /** Directories that are open in Neovim, for the environment. The CLI may read and write in all of them. */
  open: string[];
  /**
   * Directories that are open in Neovim, and their repository roots, for the discovery file. CLIs use this list only to
   * find the editor.
   */
  listed: string[];
}

/**
 * Determines the workspace directories for CLIs.
 * @param directories absolute paths. Symbolic links are not resolved, because the CLI resolves them before it compares
 * paths. Empty paths are left out, because they would match every directory.
 */
export async function workspacePaths(directories: readonly string[]): Promise<WorkspacePaths> {
  const open = [...new Set(directories.filter((directory) => directory !== ""))];
  const roots = await Promise.all(open.map(gitRoot));
  return { open, listed: [...new Set([...open, ...roots.filter((root) => root !== undefined)])] };
}

/** Whether a directory can be in a list that is joined by the platform's path separator. */
export function canBeJoined(directory: string): boolean {
  return !directory.includes(delimiter);
}

/**
 * Finds the root of a directory's repository or worktree: the nearest folder with a `.git` folder or file.
 * @returns undefined if there is no repository, or if a network drive does not answer
 */
async function gitRoot(directory: string): Promise<string | undefined> {
  function* find(): Question<string | undefined> {
    for (let folder = directory; ; folder = dirname(folder)) {
      const { value } = yield* fileSystem.stat(join(folder, ".git"));
      if (value) return folder;
      if (folder === dirname(folder)) return undefined;
    }
  }
  try {
    return await disk.moment().ask(find);
  } catch (error) {
    if (error instanceof NoAnswer) return undefined;
    throw error;
  }
}
