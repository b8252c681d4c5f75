import type { Stats } from "node:fs";

/** As long as it is the same, so is the file, and it need not be read. */
export function versionOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return [ino, size, mtimeMs, ctimeMs].join(" ");
}
