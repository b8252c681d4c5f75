/** Finds the new name of a changed file that the user has renamed. */
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { disk } from "../system/disk.ts";
import { realPath } from "../system/file-state.ts";
import { versionOf, withoutRename } from "../system/file-version.ts";
import type { FileChange } from "./file-change.ts";
import { lookAt } from "./work-tree.ts";

/**
 * @param openFiles paths of the files that are open in Neovim; searched in addition to the file's folder
 * @returns undefined if the file was not found, or was changed at the same time
 */
export async function findRenamed(
  { path, version }: Pick<FileChange, "path" | "version">,
  openFiles: readonly string[],
): Promise<string | undefined> {
  const folder = dirname(path);
  const names = await disk.run(folder, () => readdir(folder)).catch((): string[] => []);
  const candidates = [...openFiles, ...names.map((name) => join(folder, name))];
  let renamed: string | undefined;
  await lookAt(
    candidates,
    (candidate) => candidate,
    (candidate, found) => {
      if (typeof found === "object" && withoutRename(versionOf(found)) === withoutRename(version))
        renamed ??= candidate;
    },
  );
  return renamed && realPath(renamed);
}
