/** Keeps or undoes changes on the user's command, and reverts the last decision. */
import { basename } from "node:path";
import { Refusal } from "../base/refusal.ts";
import type { ChosenChanges, Range } from "../contract/changes.ts";
import type { Decided } from "../contract/requests.ts";
import type { Turn } from "../contract/turns.ts";
import type { Bridge, Handlers } from "../neovim/bridge.ts";
import { type FileState, readState } from "../system/file-state.ts";
import type { UserFiles } from "../system/user-files.ts";
import type { ChangedFiles } from "./changed-files.ts";
import type { EditsInProgress } from "./edits-in-progress.ts";
import type { Hunk } from "./edits-to-hunks.ts";
import {
  type FileChange,
  fileStateOf,
  follow,
  isChanged,
  kept,
  newestAuthor,
  obstacle,
  textOf,
  undone,
} from "./file-change.ts";
import type { History } from "./history.ts";
import { splitHunks } from "./hunk-parts.ts";
import type { UndoNotes } from "./undo-notes.ts";

/** Limits for decisions that can be reverted: number of decisions, and total length of their files (characters). */
const MAX_DECISIONS = 50;
const MAX_TEXT_LENGTH = 32 * 1024 * 1024;

/** Maximum number of problems that a message lists. */
const MAX_PROBLEMS = 3;

type Verb = "Kept" | "Undid";

/** Part of a decision: the change of one file. */
interface Step {
  readonly before: FileChange;
  readonly after: FileChange;
  /** CLI profile of an agent that has changed the file after the decision. */
  changedBy?: string;
}

interface Decision {
  readonly verb: Verb;
  readonly steps: readonly Step[];
}

/**
 * The user's choice: the hunks with these `ids`, or the whole file if `ids` is undefined. If the user chose a part of a
 * hunk, this hunk is already split in `change`.
 */
interface Choice {
  readonly change: FileChange;
  readonly ids: ReadonlySet<number> | undefined;
}

type Chosen = ChosenChanges["files"][number];

interface Decisions {
  readonly handlers: Pick<Handlers, "changes_keep" | "changes_undo" | "changes_revert">;
  /** Records that an agent has written a file. Earlier decisions on this file can then no longer be reverted. */
  agentWrote(path: string, turn: Turn): void;
  /**
   * Updates the change record of a file from the disk before the user's decision writes the file.
   * @throws {Refusal} while an agent is editing the file
   */
  prepare(path: string): Promise<void>;
}

interface DecisionsOptions {
  bridge: Pick<Bridge, "tell">;
  files: ChangedFiles;
  edits: Pick<EditsInProgress, "agentAt" | "settled">;
  history: Pick<History, "kept">;
  userFiles: UserFiles;
  notes: Pick<UndoNotes, "undid" | "reverted">;
  /**
   * Runs functions one after the other. Before each function, ends the turns of agents whose process has ended.
   * @returns the result of the function
   */
  inOrder<T>(run: () => Promise<T>): Promise<T>;
  /** Updates the change record of a file from the disk. */
  syncPath(path: string): Promise<void>;
  /** Called when an undo has written a file. */
  settled(path: string, now: FileState): void;
  /** Returns whether a command of an agent is running. Such a command may write any file. */
  areCommandsRunning(): boolean;
}

export function createDecisions(options: DecisionsOptions): Decisions {
  const { bridge, files, edits, history, userFiles, notes, inOrder, syncPath, settled } = options;
  /** Decisions that can be reverted, oldest first. */
  const decisions: Decision[] = [];

  /**
   * Keeps or undoes the chosen hunks of each file. If one file fails, continues with the others. Tells the user the
   * result in one message.
   */
  async function decide(
    verb: Verb,
    { files: chosen, unsaved, turn }: ChosenChanges,
    act: (
      one: Chosen,
      turn: number | undefined,
      isAlone: boolean,
    ) => Promise<{ step: Step; problem?: string | undefined } | undefined>,
  ): Promise<Decided> {
    const problems = unsaved.map(
      (path) => `${basename(path)} has unsaved changes: save or discard them first`,
    );
    const steps: Step[] = [];
    for (const one of chosen) {
      try {
        const done = await act(one, turn, chosen.length === 1);
        if (done) steps.push(done.step);
        if (done?.problem) problems.push(done.problem);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        problems.push(error.message);
      }
    }
    if (steps.length > 0) remember({ verb, steps });
    const result = steps.length > 0 ? [`${verb} ${summaryOf(steps)}.`] : [];
    if (steps.length > 0 && files.all().length === 0) {
      result.push("No unreviewed changes are left.");
      if (verb === "Undid") result.push("To revert the undo, press u in the tree of :GeminiChanges.");
    }
    if (result.length + problems.length === 0) result.push("No unreviewed changes.");
    tellResult(bridge, result, problems);
    return { path: steps[0]?.before.path };
  }

  function remember(decision: Decision): void {
    decisions.push(decision);
    let size = 0;
    const fits = ({ steps }: Decision) => {
      for (const { before } of steps) size += before.text.lines.reduce((sum, line) => sum + line.length, 0);
      return size <= MAX_TEXT_LENGTH;
    };
    const last = decisions.findLastIndex((one) => !fits(one));
    decisions.splice(0, Math.max(last + 1, decisions.length - MAX_DECISIONS));
  }

  /**
   * Puts the files that agents created first. Undo deletes created files before it restores other files, because a
   * created file may block the path of a file that must be restored.
   */
  function createdFirst(chosen: readonly Chosen[]): Chosen[] {
    const isCreated = ({ path }: Chosen) => files.get(path)?.before === "absent";
    return [...chosen].sort((a, b) => Number(isCreated(b)) - Number(isCreated(a)));
  }

  /** Keeps the chosen hunks of a file. */
  async function keep(one: Chosen, turn: number | undefined) {
    const before = files.get(one.path);
    // Checks `isChanged`, because `files` also contains files that an agent has not changed yet.
    const choice = before && isChanged(before) ? choose(before, one, turn) : undefined;
    if (!before || !choice) return undefined;
    history.kept(one.path);
    settled(one.path, fileStateOf(before));
    const after = withDecisionCount(choice, kept(choice.change, choice.ids));
    files.set(after, { decision: "kept" });
    return { step: { before, after } };
  }

  /** Undoes the chosen hunks of a file. */
  async function undo(one: Chosen, turn: number | undefined, isAlone: boolean) {
    const { path } = one;
    const { version } = files.get(path) ?? {};
    await prepare(path);
    const before = files.get(path);
    if (!before || !isChanged(before)) return undefined;
    if (one.range && before.version !== version)
      throw new Refusal(`${basename(path)} has changed since you chose the lines: choose them again`);
    const choice = choose(before, one, turn);
    if (!choice) return undefined;
    const { change, ids } = choice;
    const reason = obstacle(change);
    if (reason !== undefined) throw new Refusal(`${path} cannot be restored: ${reason}`);
    if (change.together && (ids || !isAlone))
      throw new Refusal(`${path} was not undone: ${change.together}. Look at it, then undo the whole file`);
    let after = withDecisionCount(choice, undone(change, ids));
    const isNew = change.opaque !== undefined || textOf(after) !== textOf(change);
    if (isNew) {
      const isWhole = after.text.hunks.length === 0;
      const metadata = isWhole || !change.exists ? change.metadata : undefined;
      const wanted = { text: textOf(after), metadata, mayBeReadOnly: true };
      const now = await userFiles.replace(path, fileStateOf(change), wanted);
      settled(path, now);
      after = { ...after, version: now.version, lastMetadata: now.metadata };
      files.set(after, { decision: "undone" });
      notes.undid(change, decidedHunks(choice, after));
    }
    const left = after.text.hunks.filter(({ id, conflict }) => conflict && (ids?.has(id) ?? true)).length;
    const problem =
      left === 1
        ? `1 hunk in ${basename(path)} was not undone, because you have edited it since`
        : `${left} hunks in ${basename(path)} were not undone, because you have edited them since`;
    if (left > 0 && !isNew) throw new Refusal(problem);
    return { step: { before, after }, problem: left > 0 ? problem : undefined };
  }

  async function prepare(path: string): Promise<void> {
    const agent = edits.agentAt(path);
    if (agent)
      throw new Refusal(`${agent.cli} is changing ${path}: answer if the CLI asks you, then try again`);
    await syncPath(path);
  }

  /** Reverts the last decision. Remembers the files that cannot be reverted while an agent works. */
  async function revert(): Promise<Decided> {
    const decision = decisions.pop();
    if (!decision) {
      tellResult(bridge, ["There is no keep or undo to revert."], []);
      return {};
    }
    const problems: string[] = [];
    const done: Step[] = [];
    const later: Step[] = [];
    const back = decision.verb === "Kept" ? unkeep : redo;
    for (const step of decision.steps) {
      const { path } = step.before;
      try {
        await prepare(path);
        if (step.changedBy)
          throw new Refusal(
            `${basename(path)} was not reverted, because ${step.changedBy} has changed it since your decision`,
          );
        await back(step);
        done.push(step);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        problems.push(error.message);
        if (edits.agentAt(path) || (back === unkeep && mayBeWritten(path))) later.push(step);
      }
    }
    if (later.length > 0) remember({ verb: decision.verb, steps: later });
    const state = decision.verb === "Kept" ? "Unreviewed again" : "Restored and unreviewed again";
    tellResult(bridge, done.length > 0 ? [`${state}: ${summaryOf(done)}.`] : [], problems);
    const [first] = done;
    if (!first) return {};
    const known = new Set(first.after.text.hunks.map(({ id }) => id));
    return { path: first.before.path, hunk: first.before.text.hunks.find(({ id }) => !known.has(id))?.id };
  }

  /** Returns whether a running command of an agent may change a file without changes. */
  function mayBeWritten(path: string): boolean {
    return options.areCommandsRunning() && !files.get(path);
  }

  /** Reverts a decision to keep a change: lists the change again. */
  async function unkeep({ before }: Step): Promise<void> {
    const { path } = before;
    const now = await readState(path);
    if (now.version === before.version) return files.set(before);
    if (mayBeWritten(path))
      throw new Refusal(
        `A running command of an agent may change ${basename(path)}: try again when the command has ended`,
      );
    const next = before.opaque ? undefined : follow(before, now);
    if (!next || !isChanged(next)) throw changedSince(path);
    files.set(next);
  }

  /** Reverts an undo: writes the agent's lines again. */
  async function redo({ before, after }: Step): Promise<void> {
    const { path } = before;
    if (before.opaque) throw new Refusal(`${path} cannot be restored: ${before.opaque.reason}`);
    const now = await readState(path);
    const text = now.kind === "known" ? now.text : undefined;
    if (now.kind === "unknown" || text !== textOf(after)) throw changedSince(path);
    const written = await userFiles.replace(path, now, {
      text: textOf(before),
      metadata: before.lastMetadata,
      mayBeReadOnly: true,
    });
    settled(path, written);
    notes.reverted(path);
    files.set({ ...before, version: written.version, lastMetadata: written.metadata });
  }

  return {
    handlers: {
      changes_keep: (chosen) => inOrder(() => decide("Kept", chosen, keep)),
      changes_undo: (chosen) =>
        inOrder(() => decide("Undid", { ...chosen, files: createdFirst(chosen.files) }, undo)),
      changes_revert: () => inOrder(revert),
    },
    agentWrote(path, { cli }) {
      for (const { steps } of decisions)
        for (const step of steps) if (step.before.path === path) step.changedBy = cli;
    },
    prepare,
  };
}

/** Creates the error for a decision that cannot be reverted, because the file has changed since the decision. */
function changedSince(path: string): Refusal {
  return new Refusal(`${basename(path)} was not reverted, because the file has changed since your decision`);
}

/**
 * Finds the hunks that the user has chosen.
 * @returns undefined if none of the hunks is chosen
 * @throws {Refusal} if the chosen hunks no longer exist, or if a part of a hunk cannot be split
 */
function choose(change: FileChange, { hunks, range }: Chosen, turn: number | undefined): Choice | undefined {
  const { text, opaque, before } = change;
  if (opaque || before === "unknown" || text.hunks.length === 0) {
    const isMeant = turn === undefined || newestAuthor(change).turn === turn;
    return isMeant ? { change, ids: undefined } : undefined;
  }
  if (turn === undefined && !hunks && !range) return { change, ids: undefined };
  const wanted = hunks && new Set(hunks);
  const isMeant = (hunk: { id: number; turn: number }) =>
    (turn === undefined || hunk.turn === turn) && (wanted?.has(hunk.id) ?? true);
  if (range && change.exists) return inRange(change, range, isMeant);
  const ids = new Set(text.hunks.filter(isMeant).map(({ id }) => id));
  if (ids.size > 0) return { change, ids };
  if (wanted?.size)
    throw new Refusal(`The chosen hunks of ${basename(change.path)} were decided or edited meanwhile`);
  return undefined;
}

function inRange(
  change: FileChange,
  range: Range,
  isMeant: (hunk: { id: number; turn: number }) => boolean,
): Choice | undefined {
  const lines = { from: range.from - 1, to: range.to };
  const { text, chosen, isRefused } = splitHunks(change.text, lines, isMeant);
  if (isRefused)
    throw new Refusal(
      `A part of a hunk in ${basename(change.path)} cannot be kept or undone alone, because the agent has overwritten one of your edits there: choose the whole hunk`,
    );
  return chosen.size > 0 ? { change: { ...change, text }, ids: chosen } : undefined;
}

/** Returns the chosen hunks that a decision has removed. @param next the change record after the decision */
function decidedHunks({ change, ids }: Choice, next: FileChange): Hunk[] {
  const left = new Set(next.text.hunks.map(({ id }) => id));
  return change.text.hunks.filter(({ id }) => (ids?.has(id) ?? true) && !left.has(id));
}

/** Increases the number of decided hunks by the hunks of this decision. */
function withDecisionCount(choice: Choice, next: FileChange): FileChange {
  return { ...next, decided: choice.change.decided + decidedHunks(choice, next).length };
}

/** Returns the text for a message about a decision, such as "2 hunks in main.ts". */
function summaryOf(steps: readonly Step[]): string {
  const files = steps.length === 1 ? basename(steps[0]?.before.path ?? "") : `${steps.length} files`;
  const hunks = steps.reduce((sum, { before, after }) => sum + after.decided - before.decided, 0);
  return hunks === 0 ? files : `${hunks} ${hunks === 1 ? "hunk" : "hunks"} in ${files}`;
}

/** Tells the user the result of a decision on several files in one message. */
export function tellResult(
  bridge: Pick<Bridge, "tell">,
  result: readonly string[],
  problems: readonly string[],
): void {
  const more = problems.length > MAX_PROBLEMS ? [`and ${problems.length - MAX_PROBLEMS} more`] : [];
  const reasons = [...problems.slice(0, MAX_PROBLEMS), ...more].join("; ");
  const text = [...result, reasons].filter((part) => part !== "").join(" ");
  bridge.tell("message", { level: problems.length > 0 ? "warn" : "info", text });
}
