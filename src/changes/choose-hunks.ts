/** Finds the hunks of a file that the user has chosen. */
import { basename } from "node:path";
import { Refusal } from "../base/refusal.ts";
import type { ChosenChanges, Range } from "../contract/changes.ts";
import type { Hunk } from "./difference/edits-to-hunks.ts";
import { splitHunks } from "./difference/split-hunks.ts";
import { type FileChange, newestAuthor } from "./file-change.ts";

export type Chosen = ChosenChanges["files"][number];

/**
 * The user's choice: the hunks with these `ids`, or the whole file if `ids` is undefined. If the user chose a part of a
 * hunk, this hunk is already split in `change`.
 */
export interface Choice {
  readonly change: FileChange;
  readonly ids: ReadonlySet<number> | undefined;
}

type IsMeant = (hunk: Pick<Hunk, "id" | "turn">) => boolean;

/**
 * @param turn restricts the choice to hunks of the turn that started at this time
 * @returns undefined if none of the hunks is chosen
 * @throws {Refusal} if the chosen hunks no longer exist, or if a part of a hunk cannot be split
 */
export function choose(
  change: FileChange,
  { hunks, range }: Chosen,
  turn: number | undefined,
): Choice | undefined {
  const { text, opaque, before } = change;
  if (opaque || before === "unknown" || text.hunks.length === 0) {
    const isMeant = turn === undefined || newestAuthor(change).turn === turn;
    return isMeant ? { change, ids: undefined } : undefined;
  }
  if (turn === undefined && !hunks && !range) return { change, ids: undefined };
  const isMeant: IsMeant = (hunk) =>
    (turn === undefined || hunk.turn === turn) && (hunks?.includes(hunk.id) ?? true);
  if (range && change.exists) return inRange(change, range, isMeant);
  const ids = new Set(text.hunks.filter(isMeant).map(({ id }) => id));
  if (ids.size > 0) return { change, ids };
  if (!hunks?.length) return undefined;
  throw new Refusal(`The chosen hunks of ${basename(change.path)} were decided or edited meanwhile`);
}

function inRange(change: FileChange, range: Range, isMeant: IsMeant): Choice | undefined {
  const lines = { from: range.from - 1, to: range.to };
  const { text, chosen, isRefused } = splitHunks(change.text, lines, isMeant);
  if (isRefused)
    throw new Refusal(
      `A part of a hunk in ${basename(change.path)} cannot be kept or undone alone, because the agent has overwritten one of your edits there: choose the whole hunk`,
    );
  return chosen.size > 0 ? { change: { ...change, text }, ids: chosen } : undefined;
}

/** Returns the chosen hunks that a decision has removed. @param next the record after the decision */
export function decidedHunks({ change, ids }: Choice, next: FileChange): Hunk[] {
  const left = new Set(next.text.hunks.map(({ id }) => id));
  return change.text.hunks.filter(({ id }) => (ids?.has(id) ?? true) && !left.has(id));
}
