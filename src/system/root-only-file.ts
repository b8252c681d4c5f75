/** Checks whether Gemini CLI trusts a system settings file (0.61.0, `isFileAndDirectorySecureSync`). */
import { lstatSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** Writable by group or others. */
const WRITABLE = 0o022;

/**
 * Finds out whether a user other than root could change a file or a directory above it.
 * @param path of an existing file
 * @returns why the CLI ignores the file; undefined if the CLI trusts it
 */
export function insecurity(path: string): string | undefined {
  try {
    if (!statSync(path).isFile()) return `${path} is not a regular file`;
    const all = new Set([...ancestry(path), ...ancestry(realpathSync(path))]);
    return [...all].map(weakness).find((reason) => reason !== undefined);
  } catch {
    return `${path} cannot be examined`;
  }
}

/** Checks one path without the directories above it. */
function weakness(path: string): string | undefined {
  const found = statSync(path);
  // If the path is a symbolic link, the owners of the link and of its target must both be root.
  if (found.uid !== 0 || lstatSync(path).uid !== 0) return `${path} does not belong to root`;
  return (found.mode & WRITABLE) === 0 ? undefined : `${path} is writable by others than root`;
}

/** Returns a path and all directories above it. */
function ancestry(path: string): string[] {
  const above = dirname(path);
  return above === path ? [path] : [path, ...ancestry(above)];
}
