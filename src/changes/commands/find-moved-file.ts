/** Finds a file that the user has moved. A file keeps its inode, size and modification time when it is moved. */
import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { disk } from "../../system/disk.ts";
import { realPath } from "../../system/file-state.ts";
import { versionOf, withoutRename } from "../../system/file-version.ts";
import type { FileChange } from "../file-change.ts";
import type { OpenPlaces, ShellCommands } from "./shell-commands.ts";

/**
 * Searches the folder of the file, the open files, and then all files of the open directories that have the same name.
 * @returns the new path; undefined if no file has the same content and times, for example because the file was also
 * edited
 */
export async function findMovedFile(
  { path, version }: Pick<FileChange, "path" | "version">,
  { files, directories }: OpenPlaces,
  commands: Pick<ShellCommands, "filesNamed">,
): Promise<string | undefined> {
  const isMoved = (other: string) =>
    disk.lstat(other).then(
      (found) => withoutRename(versionOf(found)) === withoutRename(version),
      () => false,
    );
  const folder = dirname(path);
  const names = await disk.run(folder, () => readdir(folder)).catch((): string[] => []);
  for (const other of [...files, ...names.map((name) => join(folder, name))])
    if (await isMoved(other)) return realPath(other);
  for (const other of await commands.filesNamed(basename(path), directories))
    if (await isMoved(other)) return realPath(other);
  return undefined;
}
