/** Reverts the user's decisions: a kept change is listed again, and an undone change is written again. */
import { basename } from "node:path";
import { Refusal } from "../base/refusal.ts";
import type { Decided } from "../contract/requests.ts";
import type { Bridge } from "../neovim/bridge.ts";
import { readState } from "../system/file-state.ts";
import type { UserFiles } from "../system/user-files.ts";
import type { ChangedFiles } from "./changed-files.ts";
import type { ShellCommands } from "./commands/shell-commands.ts";
import type { EditsInProgress } from "./edits-in-progress.ts";
import { type FileChange, follow, isChanged, lengthOf, textOf } from "./file-change.ts";
import type { DiskFollower } from "./follow-disk.ts";
import { type Step, summaryOf, tellResult, tryEach } from "./tell-result.ts";
import type { UndoNotes } from "./undo-notes.ts";

/** Limits for decisions that can be reverted: number of decisions, and total length of their texts (characters). */
const MAX_DECISIONS = 50;
const MAX_TEXT_LENGTH = 32 * 1024 * 1024;

/** A step that can be reverted. `changedBy`: CLI of an agent that has changed the file after the decision. */
type RevertibleStep = Step & { changedBy?: string };

export interface Decision {
  readonly verb: "Kept" | "Undid";
  readonly steps: readonly Step[];
}

interface Decisions {
  /** Remembers a decision. Forgets the oldest decisions beyond the limits. */
  remember(decision: Decision): void;
  /** Reverts the last decision. Remembers the files that cannot be reverted while an agent works. */
  revert(): Promise<Decided>;
}

interface DecisionsOptions {
  bridge: Pick<Bridge, "tell">;
  files: ChangedFiles;
  edits: Pick<EditsInProgress, "agentAt">;
  disk: Pick<DiskFollower, "prepare" | "settled">;
  commands: Pick<ShellCommands, "runner">;
  userFiles: UserFiles;
  notes: Pick<UndoNotes, "reverted">;
}

export function createDecisions(options: DecisionsOptions): Decisions {
  const { bridge, files, edits, disk, commands, userFiles, notes } = options;
  /** Decisions that can be reverted, oldest first. */
  const decisions: { verb: Decision["verb"]; steps: readonly RevertibleStep[] }[] = [];

  files.on(({ path, wrote }) => {
    if (!wrote) return;
    for (const { steps } of decisions)
      for (const step of steps) if (step.before.path === path) step.changedBy = wrote.turn.cli;
  });

  function remember(decision: Decision): void {
    decisions.push(decision);
    let size = 0;
    const fits = ({ steps }: Decision) => {
      for (const { before } of steps) size += lengthOf(before);
      return size <= MAX_TEXT_LENGTH;
    };
    const last = decisions.findLastIndex((one) => !fits(one));
    decisions.splice(0, Math.max(last + 1, decisions.length - MAX_DECISIONS));
  }

  /** Returns whether a running command of an agent may change a file without changes. */
  function mayBeWritten(path: string): boolean {
    return commands.runner !== undefined && !files.outline(path);
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
    if (!next || !isChanged(next)) throw changedSince(before);
    files.set(next);
  }

  /** Reverts an undo: writes the agent's lines again. */
  async function redo({ before, after }: Step): Promise<void> {
    const { path } = before;
    if (before.opaque) throw new Refusal(`${path} cannot be restored: ${before.opaque.reason}`);
    const now = await readState(path);
    const text = now.kind === "known" ? now.text : undefined;
    if (now.kind === "unknown" || text !== textOf(after)) throw changedSince(before);
    const written = await userFiles.replace(path, now, {
      text: textOf(before),
      metadata: before.lastMetadata,
      mayBeReadOnly: true,
    });
    disk.settled(path, written);
    notes.reverted(path);
    files.set({ ...before, version: written.version, lastMetadata: written.metadata });
  }

  /** @throws {Refusal} if the file cannot be reverted */
  async function revertStep(verb: Decision["verb"], step: RevertibleStep): Promise<void> {
    const { path } = step.before;
    await disk.prepare(path);
    if (step.changedBy)
      throw new Refusal(
        `${basename(path)} was not reverted, because ${step.changedBy} has changed it since your decision`,
      );
    await (verb === "Kept" ? unkeep(step) : redo(step));
  }

  /** @returns the steps that were reverted, those that can be reverted later, and the problems */
  async function revertAll({ verb, steps }: Decision) {
    const done: Step[] = [];
    const problems: string[] = [];
    await tryEach(steps, problems, async (step) => {
      await revertStep(verb, step);
      done.push(step);
    });
    const isRunning = ({ before: { path } }: Step) =>
      edits.agentAt(path) || (verb === "Kept" && mayBeWritten(path));
    const later = steps.filter((step) => !done.includes(step) && isRunning(step));
    return { done, later, problems };
  }

  return {
    remember,
    async revert() {
      const decision = decisions.pop();
      if (!decision) {
        tellResult(bridge, ["There is no keep or undo to revert."], []);
        return {};
      }
      const { verb } = decision;
      const { done, later, problems } = await revertAll(decision);
      if (later.length > 0) remember({ verb, steps: later });
      const state = verb === "Kept" ? "Unreviewed again" : "Restored and unreviewed again";
      tellResult(bridge, done.length > 0 ? [`${state}: ${summaryOf(done)}.`] : [], problems);
      return done[0] ? firstOf(done[0]) : {};
    },
  };
}

/** Returns the file of a reverted decision, and its first hunk that is undecided again. */
function firstOf({ before, after }: Step): Decided {
  const known = new Set(after.text.hunks.map(({ id }) => id));
  return { path: before.path, hunk: before.text.hunks.find(({ id }) => !known.has(id))?.id };
}

/** Creates the error for a decision that cannot be reverted, because the file has changed since the decision. */
function changedSince({ path }: FileChange): Refusal {
  return new Refusal(`${basename(path)} was not reverted, because the file has changed since your decision`);
}
