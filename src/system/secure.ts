/** Whom Gemini CLI believes a file of the system: root alone (0.61.0, `isFileAndDirectorySecureSync`). */
import { lstatSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** Writable by group or others. */
const WRITABLE = 0o022;

/**
 * @param path of a file that exists
 * @returns why the CLI passes the file over: it or a directory above it could be changed by somebody else than root
 */
export function insecurity(path: string): string | undefined {
  try {
    if (!statSync(path).isFile()) return `${path} is no file`;
    const all = new Set([...ancestry(path), ...ancestry(realpathSync(path))]);
    return [...all].map(weakness).find((reason) => reason !== undefined);
  } catch {
    return `${path} cannot be examined`;
  }
}

/** The same of one path, without those above it. */
function weakness(path: string): string | undefined {
  const found = statSync(path);
  // A symbolic link's own owner counts, too.
  if (found.uid !== 0 || lstatSync(path).uid !== 0) return `${path} does not belong to root`;
  return (found.mode & WRITABLE) === 0 ? undefined : `${path} is writable by others than root`;
}

/** A path and all directories above it. */
function ancestry(path: string): string[] {
  const above = dirname(path);
  return above === path ? [path] : [path, ...ancestry(above)];
}
