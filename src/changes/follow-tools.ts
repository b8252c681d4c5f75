/**
 * Follows the tools of agents. Updates the records of the files that an edit or a shell command has changed, and tells
 * these changes from those of the user and other programs.
 */
import { createYielder } from "../base/work-slices.ts";
import type { Begun } from "../contract/hooks.ts";
import type { Turn, TurnStep } from "../contract/turns.ts";
import { type FileState, readState, realPath, unknown, versionAt } from "../system/file-state.ts";
import { createAgreements } from "./agreements.ts";
import type { ChangedFiles } from "./changed-files.ts";
import type { CommandResult, OpenPlaces, ShellCommands, Written } from "./commands/shell-commands.ts";
import type { EditInProgress, EditsInProgress } from "./edits-in-progress.ts";
import { type FileChange, follow, NOT_KNOWN, textsOf } from "./file-change.ts";
import type { History } from "./history.ts";
import type { Queue } from "./run-in-order.ts";
import type { TurnReport } from "./turn-report.ts";

const LATE = "the agent began before the file was read";
const NOT_SEEN = "the bridge was not running when a command began";

interface ToolFollower {
  /** Handles the start of a tool. Reads files at once, but handles the result only after earlier steps. */
  starts(step: TurnStep & { kind: "tool_starting" }): Promise<void>;
  ends(step: TurnStep & { kind: "tool_ended" }): Promise<void>;
  /**
   * Handles the end of a turn. Commands and edits of the turn may not have ended yet: compares their files with the
   * disk, and stops tracking them.
   * @param isDead true if the agent's process has ended. Its edits may then have happened without a report. A running
   * process may still report them
   */
  turnEnds(turn: Turn, isDead: boolean): Promise<void>;
  /**
   * Records that the user has accepted texts for a file. When an agent writes such a text, this does not count as an
   * undecided change.
   * @param hashes the hashes of these texts
   */
  agreed(path: string, hashes: readonly string[]): void;
}

interface ToolFollowerOptions {
  files: ChangedFiles;
  edits: EditsInProgress;
  commands: ShellCommands;
  report: Pick<TurnReport, "missed">;
  history: Pick<History, "agreed">;
  staging: { commandEnded(): void };
  /** Returns the files and directories that are open in Neovim. */
  openPlaces(): Promise<OpenPlaces>;
  /** Whether any agent is in a turn. */
  areAgentsAtWork(): boolean;
  enqueue: Queue["enqueue"];
}

/** Path of a file, and its state when the hook event arrived. */
interface Seen {
  readonly path: string;
  readonly now: FileState;
}

/** A command that has begun, and whose end was not reported yet. */
interface BegunCommand {
  readonly turn: Turn;
  readonly command: string;
}

export function createToolFollower(options: ToolFollowerOptions): ToolFollower {
  const { files, edits, commands, report, history, openPlaces, enqueue } = options;
  const agreements = createAgreements();
  const begunCommands = new Set<BegunCommand>();

  /** Reads the file at once, even if earlier steps are still waiting to be handled. */
  async function readBeforeEdit(edit: EditInProgress, begun: Begun): Promise<Seen> {
    const path = await realPath(edit.named);
    edit.path = path;
    files.tidy(path);
    const now = await readState(path);
    const seen = begun.aborted ? unknown(LATE) : now;
    commands.noticed(path, { from: seen, isUser: false });
    return { path, now: seen };
  }

  async function readAfterEdit(named: string, known: string | undefined): Promise<Seen> {
    const path = known ?? (await realPath(named));
    const now = await readState(path);
    commands.noticed(path, { to: now, isUser: false });
    return { path, now };
  }

  function editStarts(turn: Turn, { path, now }: Seen): void {
    const known = files.get(path);
    if (!known) files.set(files.begin(path, now, turn));
    else if (!edits.agentAt(path, turn)) files.follow(known, now, commands.runner);
  }

  /** @param late the record of the file before the edit, if the edit ends after its turn */
  function editEnds(
    { turn, failed }: TurnStep & { kind: "tool_ended" },
    { path, now }: Seen,
    late: FileChange | undefined,
  ): void {
    const known = late ?? files.get(path);
    const isReviewed = agreements.take(path, now);
    // No hook reported the start of this edit, for example because the host process was not running.
    if (!known && (failed || isReviewed)) return;
    const before = known ?? files.begin(path, unknown(NOT_KNOWN), turn);
    if (isReviewed) {
      commands.noticed(path, { to: now, isUser: true });
      history.agreed(path, textsOf(before, follow(before, now)));
    }
    files.follow(before, now, isReviewed ? undefined : turn);
  }

  async function editReported(step: TurnStep & { kind: "tool_ended" }, named: string): Promise<void> {
    const edit = edits.ending(step.turn, named);
    const late = edit ? undefined : edits.takeLate(step.turn, named);
    const seen = readAfterEdit(named, (edit ?? late?.edit)?.path);
    await enqueue(async () => {
      editEnds(step, await seen, late?.before);
      if (edit) edits.end(edit);
      files.tidy((await seen).path);
    });
  }

  /** Handles the end of an edit that no hook has reported. */
  async function editIsOver(edit: EditInProgress, isDead: boolean): Promise<void> {
    const { path = edit.named, turn } = edit;
    const change = files.get(path);
    if (change && !isDead) edits.late(edit, change);
    if (change) files.follow(change, await readState(path), isDead ? turn : commands.runner);
    edits.end(edit);
    files.tidy(path);
  }

  /** Waits for the snapshot before a command. @returns the known files that have changed since they were read */
  async function commandStarts(turn: Turn, command: string, begun: Begun): Promise<Seen[]> {
    const { directories } = await openPlaces();
    const versions = new Map<string, string>();
    for (const { path } of files.known()) versions.set(path, await versionAt(path));
    const changed = await readChanged(versions);
    await commands.begin(turn, command, { directories, versions }, begun);
    return changed;
  }

  /** Reads the known files whose versions differ from their records. @param versions the current versions */
  async function readChanged(versions: ReadonlyMap<string, string>): Promise<Seen[]> {
    const changed: Seen[] = [];
    for (const [path, version] of versions)
      if (files.outline(path)?.version !== version) changed.push({ path, now: await readState(path) });
    return changed;
  }

  /**
   * Updates the records of files that have changed.
   * @param turn turn whose command has changed them; undefined for the user
   */
  function take(changed: readonly Seen[], turn: Turn | undefined): void {
    for (const { path, now } of changed) {
      const change = files.get(path);
      if (change && !edits.agentAt(path)) files.follow(change, now, turn);
    }
  }

  async function commandReported({ turn }: TurnStep, command: string): Promise<void> {
    const isBegun = (one: BegunCommand) => one.turn.session === turn.session && one.command === command;
    const one = [...begunCommands].find(isBegun);
    if (one) begunCommands.delete(one);
    const result = one && commands.end(turn, command);
    await enqueue(async () => {
      if (result) await commandEnds(turn, result);
      // The command of a turn that was seen has ended with its turn.
      else if (!turn.isSeen) report.missed(turn, NOT_SEEN);
    });
  }

  function commandWrote(turn: Turn, { path, before, after, together, wasListed }: Written): void {
    const known = together && !wasListed ? undefined : files.get(path);
    const change = known ?? files.begin(path, before, turn);
    const mixed = together ? { ...change, together } : change;
    if (agreements.take(path, after)) files.follow(change, after);
    else if (after.version === change.version && together) files.set(mixed);
    else files.follow(mixed, after, turn);
  }

  async function commandEnds(turn: Turn, { written, gaps, versions }: CommandResult): Promise<void> {
    const yieldIfDue = createYielder();
    for await (const file of written) {
      await yieldIfDue();
      const isReviewed = edits.agentAt(file.path) && agreements.has(file.path, file.after);
      if (!isReviewed) commandWrote(turn, file); // else the end of the edit is still to come
    }
    const since = new Map<string, string>();
    for (const [path, before] of versions) {
      const now = await versionAt(path);
      if (now !== before) since.set(path, now);
    }
    take(await readChanged(since), turn);
    for (const gap of gaps) report.missed(turn, gap);
    options.staging.commandEnded();
  }

  return {
    async starts({ turn, tool, begun }) {
      if (tool.kind === "edit") {
        const seen = readBeforeEdit(edits.begin(turn, tool.filePath), begun);
        void enqueue(async () => editStarts(turn, await seen));
        await Promise.all([seen, commands.compared()]);
      } else if (tool.kind === "shell") {
        const { runner } = commands;
        begunCommands.add({ turn, command: tool.command });
        const before = commandStarts(turn, tool.command, begun);
        void enqueue(async () => take(await before, runner));
        await before;
      }
    },
    async ends(step) {
      if (step.tool.kind === "edit") await editReported(step, step.tool.filePath);
      else if (step.tool.kind === "shell") await commandReported(step, step.tool.command);
    },
    turnEnds(turn, isDead) {
      // A tool that the agent begins later belongs to its next turn, even if the end of this turn is still in the queue.
      const endingEdits = edits.allEnding(turn);
      const endingCommands = [...begunCommands].filter((one) => one.turn.session === turn.session);
      for (const one of endingCommands) begunCommands.delete(one);
      return enqueue(async () => {
        for (const one of endingCommands) {
          const result = commands.end(turn, one.command);
          if (result) await commandEnds(one.turn, result);
        }
        for (const edit of endingEdits) await editIsOver(edit, isDead);
        if (!options.areAgentsAtWork()) agreements.clear();
      });
    },
    agreed(filePath, hashes) {
      const real = realPath(filePath);
      void enqueue(async () => agreements.add(await real, hashes));
    },
  };
}
