/** Deletes snapshot stores and indexes that no Neovim uses any more. */
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "../../base/attempt.ts";

/** Time after which an unused store or index is deleted. */
const UNUSED_AFTER_MS = 24 * 60 * 60 * 1_000;

/** Deletes what is in a folder and was not written for a day. @param names pattern of the names to look at */
export function deleteUnused(folder: string, names = /./): void {
  for (const name of (attempt(() => readdirSync(folder)) ?? []).filter((one) => names.test(one))) {
    const path = join(folder, name);
    const used = attempt(() => statSync(path).mtimeMs) ?? 0;
    if (Date.now() - used > UNUSED_AFTER_MS) attempt(() => rmSync(path, { recursive: true, force: true }));
  }
}
