/** Writes accepted texts of reviews that do not come from a CLI's `openDiff`. */
import { basename } from "node:path";
import type { Log } from "../base/log.ts";
import { Refusal } from "../base/refusal.ts";
import { readSeen, readState, realPath } from "../system/file-state.ts";
import type { UserFiles } from "../system/user-files.ts";

/**
 * Writes an accepted text to a file. After an `openDiff`, this is not needed, because the CLI itself writes the text.
 * @param version version of the file when the user accepted the text
 * @returns the reason if the text was not written
 */
export async function writeAcceptedText(
  { filePath, content, version }: { filePath: string; content: string; version: string | undefined },
  { userFiles, log }: { userFiles: UserFiles; log: Log },
): Promise<string | undefined> {
  try {
    const path = await realPath(filePath);
    const seen = await (version === undefined ? readState(path) : readSeen(path, version));
    if (!seen) return `${basename(path)} was not written, because it has changed since you accepted`;
    await userFiles.replace(path, seen, { text: Buffer.from(content).toString("latin1") });
    return undefined;
  } catch (error) {
    log.error(`${filePath} was not written:`, error);
    return error instanceof Refusal ? error.message : `${basename(filePath)} was not written`;
  }
}
