/** Lists the files of open directories outside Git work trees. */
import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createYielder } from "../base/work-slices.ts";
import { realPath } from "../system/file-state.ts";
import { isBelow, type Scope } from "./work-tree.ts";

/** Maximum number of listed files. Further files are not compared. */
export const MAX_LISTED_FILES = 5_000;

/** Directories outside Git work trees, as absolute paths with all symbolic links resolved. */
export interface Outside {
  readonly directories: readonly string[];
  /** Skipped directories: the directory of the plugin's own files, and Git work trees. */
  readonly except: readonly string[];
}

export interface Listing {
  /** Absolute paths of regular files and links. Files of parent directories come first. */
  readonly paths: readonly string[];
  readonly isComplete: boolean;
}

/** Finds open directories outside Git work trees. @param tops top directories of the work trees */
export async function findOutside({ directories, except }: Scope, tops: readonly string[]): Promise<Outside> {
  const [own = except, ...open] = await Promise.all([except, ...directories].map(realPath));
  const isCovered = (directory: string, by: readonly string[]) =>
    by.some((other) => other !== directory && isBelow(directory, other));
  const left = [...new Set(open)].filter((directory) => !tops.some((top) => isBelow(directory, top)));
  return {
    directories: left.filter((directory) => !isCovered(directory, left)),
    except: [own, ...tops],
  };
}

/** Lists the files in directories and their subdirectories. @param isOver returns true to stop early */
export async function listFiles(
  { directories, except }: Outside,
  isOver: () => boolean = () => false,
): Promise<Listing> {
  const paths: string[] = [];
  const yieldIfDue = createYielder();
  const queue = [...directories];
  for (const directory of queue) {
    await yieldIfDue();
    for (const entry of await readDirectory(directory)) {
      if (isOver() || paths.length === MAX_LISTED_FILES) return { paths, isComplete: false };
      const path = join(directory, entry.name);
      if (entry.isFile() || entry.isSymbolicLink()) paths.push(path);
      else if (entry.isDirectory() && entry.name !== ".git" && !except.includes(path)) queue.push(path);
    }
  }
  return { paths, isComplete: true };
}

/**
 * Reads a directory. Sorts the names, so that a limit always omits the same files. Leaves out names that are not valid
 * UTF-8, because a string cannot represent them.
 */
async function readDirectory(directory: string): Promise<Dirent[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((): Dirent[] => []);
  const named = entries.filter(({ name }) => !name.includes("\uFFFD"));
  return named.sort((a, b) => (a.name < b.name ? -1 : 1));
}
