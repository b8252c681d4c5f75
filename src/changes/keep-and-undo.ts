/** Keeps or undoes changes on the user's command. */
import { basename } from "node:path";
import { Refusal } from "../base/refusal.ts";
import type { ChosenChanges } from "../contract/changes.ts";
import type { Decided } from "../contract/requests.ts";
import type { Bridge, Handlers } from "../neovim/bridge.ts";
import type { UserFiles } from "../system/user-files.ts";
import type { ChangedFiles } from "./changed-files.ts";
import { type Choice, type Chosen, choose, decidedHunks } from "./choose-hunks.ts";
import { type FileChange, fileStateOf, isChanged, kept, obstacle, textOf, undone } from "./file-change.ts";
import type { DiskFollower } from "./follow-disk.ts";
import { createDecisions, type Decision } from "./revert-decisions.ts";
import type { Queue } from "./run-in-order.ts";
import { type Step, summaryOf, tellResult, tryEach } from "./tell-result.ts";
import type { UndoNotes } from "./undo-notes.ts";

interface KeepAndUndoOptions extends Omit<Parameters<typeof createDecisions>[0], "disk" | "notes"> {
  bridge: Pick<Bridge, "tell">;
  files: ChangedFiles;
  disk: Pick<DiskFollower, "prepare" | "settled">;
  userFiles: UserFiles;
  notes: Pick<UndoNotes, "undid" | "reverted">;
  /** Runs functions one after the other. Before each function, ends the turns of agents whose process has ended. */
  inOrder: Queue["inOrder"];
}

/** A decision on one file. `problem`: set if some hunks could not be undone. */
interface Done {
  readonly step: Step;
  readonly problem?: string | undefined;
}

/** Decides on one file. @returns undefined if nothing is chosen @throws {Refusal} if nothing can be done */
type Act = (one: Chosen, turn: number | undefined, isAlone: boolean) => Promise<Done | undefined>;

export function createKeepAndUndo(
  options: KeepAndUndoOptions,
): Pick<Handlers, "changes_keep" | "changes_undo" | "changes_revert"> {
  const { bridge, files, disk, userFiles, notes, inOrder } = options;
  const decisions = createDecisions(options);

  /** Decides on each file. If one file fails, continues with the others. Tells the user the result in one message. */
  async function decide(verb: Decision["verb"], chosen: ChosenChanges, act: Act): Promise<Decided> {
    const problems = chosen.unsaved.map(
      (path) => `${basename(path)} has unsaved changes: save or discard them first`,
    );
    const steps: Step[] = [];
    await tryEach(chosen.files, problems, async (one) => {
      const done = await act(one, chosen.turn, chosen.files.length === 1);
      if (done) steps.push(done.step);
      if (done?.problem) problems.push(done.problem);
    });
    if (steps.length > 0) decisions.remember({ verb, steps });
    const result = steps.length > 0 ? resultOf(verb, steps) : [];
    if (result.length + problems.length === 0) result.push("No unreviewed changes.");
    tellResult(bridge, result, problems);
    return { path: steps[0]?.before.path };
  }

  function resultOf(verb: Decision["verb"], steps: readonly Step[]): string[] {
    const result = [`${verb} ${summaryOf(steps)}.`];
    if (files.all().length > 0) return result;
    result.push("No unreviewed changes are left.");
    if (verb === "Undid") result.push("To revert the undo, press u in the tree of :GeminiChanges.");
    return result;
  }

  /**
   * Puts the files that agents created first. Undo deletes created files before it restores other files, because a
   * created file may block the path of a file that must be restored.
   */
  function createdFirst(chosen: readonly Chosen[]): Chosen[] {
    const isCreated = ({ path }: Chosen) => files.outline(path)?.before === "absent";
    return [...chosen].sort((a, b) => Number(isCreated(b)) - Number(isCreated(a)));
  }

  /** Returns the changed file. `files` also contains files that an agent has not changed yet. */
  function changed(path: string): FileChange | undefined {
    const change = files.get(path);
    return change && isChanged(change) ? change : undefined;
  }

  async function keep(one: Chosen, turn: number | undefined): Promise<Done | undefined> {
    const before = changed(one.path);
    const choice = before && choose(before, one, turn);
    if (!choice) return undefined;
    disk.settled(one.path, fileStateOf(before));
    const after = withDecisionCount(choice, kept(choice.change, choice.ids));
    files.set(after, { decision: "kept" });
    return { step: { before, after } };
  }

  async function undo(one: Chosen, turn: number | undefined, isAlone: boolean): Promise<Done | undefined> {
    const { path } = one;
    const { version } = files.outline(path) ?? {};
    await disk.prepare(path);
    const before = changed(path);
    if (!before) return undefined;
    if (one.range && before.version !== version)
      throw new Refusal(`${basename(path)} has changed since you chose the lines: choose them again`);
    const choice = choose(before, one, turn);
    if (!choice) return undefined;
    refuse(choice, isAlone);
    const after = await restore(choice);
    const { ids } = choice;
    const left = after.text.hunks.filter(({ id, conflict }) => conflict && (ids?.has(id) ?? true)).length;
    const problem = left > 0 ? notUndone(path, left) : undefined;
    if (problem && !isOther(choice, after)) throw new Refusal(problem);
    return { step: { before, after }, problem };
  }

  /** Writes the earlier text of the chosen hunks. @returns the record afterwards @throws {Refusal} */
  async function restore(choice: Choice): Promise<FileChange> {
    const { change, ids } = choice;
    const { path } = change;
    const next = withDecisionCount(choice, undone(change, ids));
    if (!isOther(choice, next)) return next;
    const isWhole = next.text.hunks.length === 0;
    const metadata = isWhole || !change.exists ? change.metadata : undefined;
    const wanted = { text: textOf(next), metadata, mayBeReadOnly: true };
    const now = await userFiles.replace(path, fileStateOf(change), wanted);
    disk.settled(path, now);
    const after = { ...next, version: now.version, lastMetadata: now.metadata };
    files.set(after, { decision: "undone" });
    notes.undid(change, decidedHunks(choice, after));
    return after;
  }

  return {
    changes_keep: (chosen) => inOrder(() => decide("Kept", chosen, keep)),
    changes_undo: (chosen) =>
      inOrder(() => decide("Undid", { ...chosen, files: createdFirst(chosen.files) }, undo)),
    changes_revert: () => inOrder(decisions.revert),
  };
}

/** @throws {Refusal} if the chosen hunks cannot be undone, or not in this way */
function refuse({ change, ids }: Choice, isAlone: boolean): void {
  const { path, together } = change;
  const reason = obstacle(change);
  if (reason !== undefined) throw new Refusal(`${path} cannot be restored: ${reason}`);
  if (together && (ids || !isAlone))
    throw new Refusal(`${path} was not undone: ${together}. Look at it, then undo the whole file`);
}

/** Returns whether a decision changes the file. */
function isOther({ change }: Choice, next: FileChange): boolean {
  return change.opaque !== undefined || textOf(next) !== textOf(change);
}

function notUndone(path: string, count: number): string {
  return count === 1
    ? `1 hunk in ${basename(path)} was not undone, because you have edited it since`
    : `${count} hunks in ${basename(path)} were not undone, because you have edited them since`;
}

/** Increases the number of decided hunks by the hunks of this decision. */
function withDecisionCount(choice: Choice, next: FileChange): FileChange {
  return { ...next, decided: choice.change.decided + decidedHunks(choice, next).length };
}
