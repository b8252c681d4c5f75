/** Checks whether Gemini CLI trusts a system settings file (0.61.0, `isFileAndDirectorySecureSync`). */
import { lstatSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** Mode bits of a file that its group or other users can write. */
const WRITABLE = 0o022;

/**
 * Determines whether a user other than root could change a file, or a directory above the file.
 * @param path path of an existing file
 * @returns the reason why the CLI ignores the file; undefined if the CLI trusts the file
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

/** Checks a path, but not the directories above it. */
function weakness(path: string): string | undefined {
  const found = statSync(path);
  // If the path is a symbolic link, both the link and its target must belong to root.
  if (found.uid !== 0 || lstatSync(path).uid !== 0) return `${path} does not belong to root`;
  return (found.mode & WRITABLE) === 0 ? undefined : `${path} is writable by others than root`;
}

/** Returns a path and all directories above it. */
function ancestry(path: string): string[] {
  const above = dirname(path);
  return above === path ? [path] : [path, ...ancestry(above)];
}
