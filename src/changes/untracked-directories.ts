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

/** Reason why changes may be missing: a string cannot represent the name of a file. */
export const NOT_UTF8 = "there are files whose names are not valid UTF-8";

export interface Listing {
  /** Absolute paths of regular files and links. Files of parent directories come first. */
  readonly paths: readonly string[];
  /** False if there are more files than the limit. */
  readonly isComplete: boolean;
  /** True if the names of some files are not valid UTF-8. These files are left out. */
  readonly hasUnnamed: boolean;
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
  let hasUnnamed = false;
  for (const directory of queue) {
    await yieldIfDue();
    for (const entry of await readDirectory(directory)) {
      if (entry.name.includes("\uFFFD")) {
        hasUnnamed = true;
        continue;
      }
      if (isOver() || paths.length === MAX_LISTED_FILES) return { paths, isComplete: false, hasUnnamed };
      const path = join(directory, entry.name);
      if (entry.isFile() || entry.isSymbolicLink()) paths.push(path);
      else if (entry.isDirectory() && entry.name !== ".git" && !except.includes(path)) queue.push(path);
    }
  }
  return { paths, isComplete: true, hasUnnamed };
}

/** Reads a directory. Sorts the names, so that a limit always omits the same files. */
async function readDirectory(directory: string): Promise<Dirent[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((): Dirent[] => []);
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}
