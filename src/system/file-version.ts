/** Creates and compares versions of files. A version shows whether a file has changed. */
import type { BigIntStats, Stats } from "node:fs";

/**
 * Identifies the content of a file without reading the file. The result stays the same while the file does not change.
 * For a directory, changes of its entries do not count.
 */
export function versionOf(found: Stats): string {
  const { ino, size, mtimeMs, ctimeMs } = found;
  return (found.isDirectory() ? [ino] : [ino, size, mtimeMs, ctimeMs]).join(" ");
}

/** Removes the inode's change time from a version. A rename updates this time, but should not change the version. */
export function withoutRename(version: string): string {
  return version.replace(/ [^ ]*$/, "");
}

/**
 * Whether a file is unchanged since Neovim has read it.
 * @param seen version from lua/gemini-bridge/disk/path.lua: inode, size, and the times of the last write and change,
 * each in seconds and nanoseconds. It is "" if there was no file
 */
export function isVersionSeen(seen: string, found: BigIntStats | undefined): boolean {
  if (!found) return seen === "";
  const second = 1_000_000_000n;
  const { size, mtimeNs, ctimeNs } = found;
  const facts = [size, mtimeNs / second, mtimeNs % second, ctimeNs / second, ctimeNs % second];
  // Does not compare the inode: Lua may have rounded its number, because Lua cannot represent all large numbers.
  return seen.split(" ").slice(1).join(" ") === facts.join(" ");
}
