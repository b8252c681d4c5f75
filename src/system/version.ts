import type { BigIntStats, Stats } from "node:fs";

/** As long as it is the same, so is the file, and it need not be read. */
export function versionOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return [ino, size, mtimeMs, ctimeMs].join(" ");
}

/**
 * Whether a file is as Neovim has seen it.
 * @param seen as lua/gemini-bridge/disk/path.lua has it: number, size, and when it was written and changed, each in
 * seconds and nanoseconds; empty for no file
 */
export function isVersionSeen(seen: string, found: BigIntStats | undefined): boolean {
  if (!found) return seen === "";
  const second = 1_000_000_000n;
  const { size, mtimeNs, ctimeNs } = found;
  const facts = [size, mtimeNs / second, mtimeNs % second, ctimeNs / second, ctimeNs % second];
  // Lua rounds a high number.
  return seen.split(" ").slice(1).join(" ") === facts.join(" ");
}
