/** Decides which files the model may see: files in the open directories, except files that the user excludes. */
import type { Stats } from "node:fs";
import { isAbsolute, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Refusal } from "../base/refusal.ts";
import { MAX_PATH_LENGTH } from "../contract/companion.ts";
import type { Consent } from "../contract/sharing.ts";
import type { Files } from "../sharing/files.ts";
import { disk, fileSystem, realExisting } from "../system/disk.ts";
import { codeOf } from "../system/error-code.ts";
import { readOpenFile } from "../system/open-file.ts";
import { isBelow } from "../system/unix.ts";
import { oneLine } from "./format.ts";

export interface Workspace {
  /**
   * Resolves a path that the model has named.
   * @param path absolute, or relative to an open directory
   * @returns the absolute path
   * @throws {Refusal} if the file does not exist, or if the model may not see the file
   */
  file(path: string): Promise<string>;
  /**
   * Reads a file from the disk.
   * @param path result of {@link file} or an element of the result of {@link shared}. If the path leads to another file
   * by now, the model must be allowed to see that file, too
   * @throws {Refusal} if the file cannot be read, is too large, or if the model may not see the file
   */
  read(path: string, maxBytes: number): Promise<string>;
  /** Selects the files that the model may read. Keeps the order. */
  shared(paths: readonly string[]): Promise<ReadonlySet<string>>;
  /** Returns whether the model may know the name of a deleted file. */
  mayName(path: string): Promise<boolean>;
  /**
   * Returns the name of a file for the model: a relative path in the first open directory, otherwise an absolute path.
   */
  name(path: string): string;
  /** Returns the name of a file as a single line. File names can contain line breaks. */
  label(path: string): string;
}

/**
 * Creates a workspace with the user's current sharing settings.
 * @throws {Refusal} while sharing is paused
 */
export function openWorkspace(
  { paused, exclude, directories }: Consent,
  files: Pick<Files, "takeSnapshot">,
): Workspace {
  if (paused)
    throw new Refusal(
      "The user has paused sharing, or has not allowed it yet. Try again only after the user has run `:GeminiShare on` in Neovim.",
    );
  const moment = disk.moment();
  const verdictOf = files.takeSnapshot(exclude);
  const [first = "/"] = directories;

  const real = async (path: string) => moment.ask(() => realExisting(path));
  const roots = Promise.all(directories.map(real));
  const name = (path: string) => (isBelow(relative(first, path)) ? relative(first, path) : path);

  async function isInside(path: string): Promise<boolean> {
    const target = await real(path);
    return (await roots).some((root) => isBelow(relative(root, target)));
  }

  /** Resolves a relative path in the first open directory that contains a file with this path. */
  async function find(path: string): Promise<string> {
    if (isAbsolute(path)) return resolve(path);
    const candidates = directories.map((directory) => resolve(directory, path));
    for (const candidate of candidates) {
      if ((await moment.ask(() => fileSystem.stat(candidate))).value) return candidate;
    }
    return candidates[0] ?? resolve("/", path);
  }

  async function shared(paths: readonly string[]): Promise<ReadonlySet<string>> {
    const unique = [...new Set(paths)];
    const inside = await Promise.all(unique.map(isInside));
    return new Set(unique.filter((path, index) => inside[index] && verdictOf(path) === "shared"));
  }

  return {
    async file(path) {
      if (path.length > MAX_PATH_LENGTH || path.includes("\0") || path === "")
        throw new Refusal("path is not a valid file name");
      const found = await find(path);
      if (!(await isInside(found)))
        throw new Refusal(`${path} is outside the open directories: ${directories.join(", ")}`);
      switch (verdictOf(found)) {
        case "shared":
          return found;
        case "excluded":
          throw new Refusal(`${path} is excluded: the user does not share it`);
        case "absent":
          throw new Refusal(`There is no such file: ${path}`);
      }
    },
    async read(path, maxBytes) {
      const check = async (place: string, { size }: Stats) => {
        if (!(await shared([place])).has(place))
          throw new Refusal(`${path} was replaced while it was read: try again`);
        if (size > maxBytes)
          throw new Refusal(
            `The file has ${size} bytes, which is too large to be read: ask the user to open it in Neovim`,
          );
      };
      try {
        return (await disk.run(path, () => readOpenFile(path, check))).bytes.toString();
      } catch (error) {
        if (error instanceof Refusal) throw error;
        throw new Refusal(`${path} cannot be read (${codeOf(error)})`, { cause: error });
      }
    },
    shared,
    async mayName(path) {
      return (await isInside(path)) && verdictOf.mayName(await real(path));
    },
    name,
    label: (path) => oneLine(name(path), MAX_PATH_LENGTH),
  };
}

export function uriOf(path: string): string {
  return pathToFileURL(path).href;
}
