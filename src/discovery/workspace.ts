/** The workspace as the CLI is told it. */
import { delimiter, dirname, join } from "node:path";
import { type Disk, disk } from "../system/disk.ts";
import { NoAnswer } from "../system/queue.ts";

export interface WorkspacePaths {
  /** The open directories, for the environment: the CLI may touch all that is listed there. */
  open: string[];
  /** The same and the roots above them, for the discovery file, where they only serve to be found. */
  listed: string[];
}

/**
 * @param directories absolute; they are listed verbatim, as the CLI decodes and resolves its own and these alike.
 *   An empty one, which would match every directory, is left out.
 */
export async function workspacePaths(directories: readonly string[]): Promise<WorkspacePaths> {
  const open = [...new Set(directories.filter((directory) => directory !== ""))];
  const roots = await Promise.all(open.map(gitRoot));
  return { open, listed: [...new Set([...open, ...roots.filter((root) => root !== undefined)])] };
}

/** Whether a list of directories that are joined can hold this one. */
export function canBeJoined(directory: string): boolean {
  return !directory.includes(delimiter);
}

/**
 * The top of the repository or worktree that holds a directory: where `.git` is, a folder or, in a worktree, a file.
 * None for a directory on a network that does not answer.
 */
async function gitRoot(directory: string): Promise<string | undefined> {
  const find = (disk: Disk) => {
    for (let folder = directory; ; folder = dirname(folder)) {
      if (disk.stat(join(folder, ".git")).value) return folder;
      if (folder === dirname(folder)) return undefined;
    }
  };
  try {
    return await disk.moment().ask(find);
  } catch (error) {
    if (error instanceof NoAnswer) return undefined;
    throw error;
  }
}
