/** What the model may see and name: files of the open directories, without those that the user keeps back. */
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Refusal } from "../base/refusal.ts";
import type { Consent } from "../contract/sharing.ts";
import { MAX_PATH } from "../http/limits.ts";
import type { Files } from "../sharing/files.ts";
import { type Disk, fileSystem, disk as thisDisk } from "../system/disk.ts";
import { oneLine } from "./format.ts";

export interface Workspace {
  /**
   * The absolute path of a file that the model has named.
   * @param path absolute, or relative to an open directory
   * @throws {Refusal} when there is none that it may see
   */
  file(path: string): Promise<string>;
  /** The files that the model may read, in the given order. */
  shared(paths: readonly string[]): Promise<ReadonlySet<string>>;
  /** Whether the model may know the name of a deleted file. */
  mayName(path: string): Promise<boolean>;
  /** An absolute path as the model is told it: relative to the first open directory where that is shorter. */
  name(path: string): string;
  /** The same for a line of text: a name may hold line breaks, and must not look like more lines. */
  label(path: string): string;
}

/**
 * The workspace of one moment.
 * @throws {Refusal} while the user has paused sharing
 */
export function openWorkspace(
  { paused, exclude, directories }: Consent,
  files: Pick<Files, "look">,
  disk: Pick<Disk, "moment"> = thisDisk,
): Workspace {
  if (paused) throw new Refusal("The user has paused sharing; :GeminiShare on in Neovim resumes it");
  const moment = disk.moment();
  const look = files.look(exclude);
  const [first = "/"] = directories;

  /** Where a path leads; of what does not exist, as far as it exists. */
  async function real(path: string): Promise<string> {
    const { value } = await moment.ask(() => fileSystem.realpath(path));
    const parent = dirname(path);
    return value ?? (parent === path ? path : join(await real(parent), basename(path)));
  }

  const roots = Promise.all(directories.map(real));
  const name = (path: string) => (isBelow(path, first) ? relative(first, path) : path);

  async function isInside(path: string): Promise<boolean> {
    const target = await real(path);
    return (await roots).some((root) => isBelow(target, root));
  }

  /** A relative path names the file of the first directory that has it. */
  async function find(path: string): Promise<string> {
    if (isAbsolute(path)) return resolve(path);
    const candidates = directories.map((directory) => resolve(directory, path));
    for (const candidate of candidates) {
      if ((await moment.ask(() => fileSystem.stat(candidate))).value) return candidate;
    }
    return candidates[0] ?? resolve("/", path);
  }

  return {
    async file(path) {
      if (path.length > MAX_PATH || path.includes("\0") || path === "")
        throw new Refusal("path cannot be one of a file");
      const found = await find(path);
      if (!(await isInside(found)))
        throw new Refusal(`${path} is outside of what is open in Neovim: ${directories.join(", ")}`);
      switch (look(found)) {
        case "shared":
          return found;
        case "excluded":
          throw new Refusal(`${path} is kept back: the user does not share it`);
        case "absent":
          throw new Refusal(`There is no such file: ${path}`);
      }
    },
    async shared(paths) {
      const unique = [...new Set(paths)];
      const inside = await Promise.all(unique.map(isInside));
      return new Set(unique.filter((path, index) => inside[index] && look(path) === "shared"));
    },
    async mayName(path) {
      return (await isInside(path)) && look.mayName(await real(path));
    },
    name,
    label: (path) => oneLine(name(path), MAX_PATH),
  };
}

function isBelow(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way !== ".." && !way.startsWith("../") && !isAbsolute(way);
}

/** @returns the URI of a file, as language servers and links have it */
export function uriOf(path: string): string {
  return pathToFileURL(path).href;
}
