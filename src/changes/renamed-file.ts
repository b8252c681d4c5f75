/** Finds the new name of a changed file that the user has renamed. */
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { disk } from "../system/disk.ts";
import { realPath } from "../system/sighting.ts";
import { versionOf } from "../system/version.ts";
import type { FileChange } from "./file-change.ts";
import { lookAt } from "./work-tree.ts";

/**
 * @param openFiles paths of the files that are open in Neovim, which are searched beside the folder of the file
 * @returns undefined if the file is not there, or was changed at the same time
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
      if (typeof found === "object" && identityIn(versionOf(found)) === identityIn(version))
        renamed ??= candidate;
    },
  );
  return renamed && realPath(renamed);
}

/** A version without its last part, the time of the last change of the inode, which a rename updates. */
function identityIn(version: string): string {
  return version.replace(/ [^ ]*$/, "");
}
