/** Decides whether to believe the text before an edit that a CLI tells, if the host has not read the file in time. */
import type { EditTexts } from "../contract/hooks.ts";
import { ABSENT, CLOCK_TICK_MS, type FileState, realPath, unknown } from "../system/file-state.ts";
import { isBelow } from "../system/path-relations.ts";
import type { OpenPlaces } from "./commands/shell-commands.ts";
import { NOT_KNOWN } from "./file-change.ts";

/** A file after an edit. */
interface Edited {
  readonly path: string;
  readonly now: FileState;
}

/**
 * Returns the state of a file before an edit. Anything that has a token can tell texts of any file, and an undo would
 * write these texts. Believes them only if the told text after the edit equals the file byte for byte, and if the file is
 * in the open directories and has really changed during the turn.
 * @param turn start of the turn (Unix milliseconds)
 * @param places returns the open directories
 */
export async function beforeTold(
  { path, now }: Edited,
  texts: EditTexts | undefined,
  turn: number,
  places: () => Promise<Pick<OpenPlaces, "directories">>,
): Promise<FileState> {
  const bytesOf = (plain: string) => Buffer.from(plain).toString("latin1");
  if (!texts || now.kind !== "known" || bytesOf(texts.after) !== now.text) return unknown(NOT_KNOWN);
  if (/[\r\uFFFD]/.test(`${texts.before}${now.text}`)) return unknown(NOT_KNOWN);
  if ((now.since ?? 0) < turn - CLOCK_TICK_MS) return unknown(NOT_KNOWN);
  const roots = await Promise.all((await places()).directories.map(realPath));
  if (!roots.some((root) => isBelow(path, root))) return unknown(NOT_KNOWN);
  if (texts.before === null) return ABSENT;
  return { kind: "known", text: bytesOf(texts.before), metadata: now.metadata, version: "told" };
}
