/**
 * Detects which changes agents make with edits and shell commands. Uses the steps of their turns to distinguish these
 * changes from those of the user and other programs.
 */
import { createYielder } from "../base/work-slices.ts";
import type { Begun, EditTexts, Tool } from "../contract/hooks.ts";
import type { Turn, TurnStep } from "../contract/turns.ts";
import { type FileState, readState, realPath, unknown, versionAt } from "../system/file-state.ts";
import { createAgreements } from "./agreements.ts";
import type { ChangedFiles } from "./changed-files.ts";
import type { CommandResult, OpenPlaces, ShellCommands } from "./commands/shell-commands.ts";
import type { EditInProgress, EditsInProgress } from "./edits-in-progress.ts";
import { type FileChange, follow, textsOf } from "./file-change.ts";
import type { History } from "./history.ts";
import { beforeTold } from "./told-texts.ts";
import type { TurnReport } from "./turn-report.ts";

const LATE = "the agent began before the file was read";
const NOT_SEEN = "the bridge was not running when a command began";
const RESTARTED = "the bridge was restarted during the turn";

interface Tracker {
  /** Handles a step of a turn. The promise resolves when the tool may begin. */
  handle(step: TurnStep): Promise<void>;
  /**
   * Records that the user has accepted texts for a file. When an agent writes such a text, this does not count as an
   * unreviewed change.
   * @param hashes the hashes of these texts
   */
  agreed(path: string, hashes: readonly string[]): void;
  /** Updates a change record from the state on disk after a write that no hook has reported. */
  catchUp(change: FileChange, now: FileState): void;
}

interface TrackerOptions {
  files: ChangedFiles;
  edits: EditsInProgress;
  report: TurnReport;
  history: History;
  /** Returns whether a CLI has written this file for itself, outside the user's project. */
  isOwnFile(cli: string, path: string): boolean;
  commands: ShellCommands;
  /** True if an earlier host of this Neovim has ended. Turns whose start was not heard then began before this host. */
  isRestarted: boolean;
  /** Returns the files and directories that are open in Neovim. */
  openPlaces(): Promise<OpenPlaces>;
  /** Returns whether any agent is in a turn. */
  areAgentsAtWork(): boolean;
  /** Called when a command has ended and its changes are known. */
  commandEnded(): void;
  /** Runs functions one after the other. */
  enqueue(run: () => void | Promise<void>): Promise<void>;
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

export function createTracker(options: TrackerOptions): Tracker {
  const { files, edits, report, history, openPlaces, enqueue, commands } = options;
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

  async function editStarts(turn: Turn, seen: Seen): Promise<void> {
    const { path, now } = seen;
    const known = files.get(path);
    const other = edits.agentAt(path, turn);
    if (known && !other) catchUp(known, now, commands.runner);
    else if (!known) files.set(files.begin(path, now, turn));
  }

  /** Returns the change record of a file before an edit. @param known the record that exists */
  async function recordBefore(turn: Turn, seen: Seen, known?: FileChange, texts?: EditTexts) {
    if (known && (known.reason !== LATE || known.touched)) return known;
    const told = await beforeTold(seen, texts, turn.turn, openPlaces);
    return known && told.kind === "unknown" ? known : files.begin(seen.path, told, turn);
  }

  /** @param late the record of the file before the edit, if the edit ends after its turn */
  async function editEnds(
    { turn, failed, texts }: TurnStep & { kind: "tool_ended" },
    seen: Seen,
    late: FileChange | undefined,
  ): Promise<void> {
    const { path, now } = seen;
    const known = late ?? files.get(path);
    const isReviewed = agreements.take(path, now);
    // No hook reported the start of this edit, for example because the host process was not running.
    if (!known && (failed || isReviewed)) return;
    const before = await recordBefore(turn, seen, known, texts);
    if (isReviewed) {
      commands.noticed(path, { to: now, isUser: true });
      const after = follow(before, now);
      history.agreed(path, textsOf(before, after));
      files.set(after);
    } else wrote(turn, before, now);
  }

  /** Handles the start of a tool. Reads files at once, but handles the result only after earlier steps. */
  async function toolStarts({ turn, tool, begun }: TurnStep & { kind: "tool_starting" }): Promise<void> {
    if (tool.kind === "edit") {
      const seen = readBeforeEdit(edits.begin(turn, tool.filePath), begun);
      void enqueue(async () => editStarts(turn, await seen));
      await Promise.all([seen, commands.compared()]);
    } else if (tool.kind === "shell") {
      const { runner } = commands;
      begunCommands.add({ turn, command: tool.command });
      const before = commandStarts(turn, tool.command, begun);
      void enqueue(async () => takeBefore(await before, runner));
      await before;
    }
  }

  async function toolEnds(step: TurnStep & { kind: "tool_ended" }): Promise<void> {
    const { turn, tool } = step;
    if (tool.kind === "edit") await editReported(step, tool);
    else if (tool.kind === "shell") {
      const one = [...begunCommands].find(
        (other) => other.turn.session === turn.session && other.command === tool.command,
      );
      if (one) begunCommands.delete(one);
      const result = one && commands.end(turn, tool.command);
      await enqueue(async () => {
        if (result) await commandEnds(turn, result);
        // The command of a turn that was seen has ended with its turn.
        else if (!turn.isSeen) report.missed(turn, NOT_SEEN);
      });
    }
  }

  async function editReported(
    step: TurnStep & { kind: "tool_ended" },
    { filePath }: Tool & { kind: "edit" },
  ): Promise<void> {
    const edit = edits.ending(step.turn, filePath);
    const late = edit ? undefined : edits.takeLate(step.turn, filePath);
    const seen = readAfterEdit(filePath, (edit ?? late?.edit)?.path);
    await enqueue(async () => {
      await editEnds(step, await seen, late?.before);
      if (edit) edits.end(edit);
      files.tidy((await seen).path);
    });
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
      if (files.get(path)?.version !== version) changed.push({ path, now: await readState(path) });
    return changed;
  }

  /**
   * Updates the change records of files that have changed.
   * @param turn turn whose command has changed them; undefined for the user
   */
  function takeBefore(changed: readonly Seen[], turn: Turn | undefined): void {
    for (const { path, now } of changed) {
      const change = files.get(path);
      if (change && !edits.agentAt(path)) catchUp(change, now, turn);
    }
  }

  /**
   * Compares a file with its last known state. Attributes a difference to `turn`, or to the user if `turn` is
   * undefined.
   */
  function catchUp(change: FileChange, now: FileState, turn: Turn | undefined): void {
    if (now.version === change.version) return;
    if (turn) wrote(turn, change, now);
    else files.set(follow(change, now));
  }

  async function commandEnds(turn: Turn, { written, gaps, versions }: CommandResult): Promise<void> {
    const yieldIfDue = createYielder();
    for await (const { path, before, after, together, wasListed } of written) {
      await yieldIfDue();
      if (edits.agentAt(path) && agreements.has(path, after)) continue; // the end of the edit is still to come
      const known = together && !wasListed ? undefined : files.get(path);
      const change = known ?? files.begin(path, before, turn);
      if (agreements.take(path, after)) files.set(follow(change, after));
      else if (after.version === change.version && together) files.set({ ...change, together });
      else wrote(turn, together ? { ...change, together } : change, after);
    }
    const since = new Map<string, string>();
    for (const [path, before] of versions) {
      const now = await versionAt(path);
      if (now !== before) since.set(path, now);
    }
    takeBefore(await readChanged(since), turn);
    for (const gap of gaps) report.missed(turn, gap);
    options.commandEnded();
  }

  function wrote(turn: Turn, before: FileChange, now: FileState): void {
    if (now.version === before.version || options.isOwnFile(turn.cli, before.path)) return;
    const after = follow(before, now, turn);
    files.set(after, { turn });
    report.changed(turn, before.path);
    const texts = textsOf(before, after);
    if (texts && texts.before !== texts.after) history.wrote(turn, before, texts);
  }

  /**
   * Handles the end of a turn. Commands and edits of the turn may not have ended yet: compares their files with the
   * disk, and stops tracking them.
   * @param isDead true if the agent's process has ended. Its edits may then have happened without a report. A running
   * process may still report them
   */
  function turnEnds(turn: Turn, isDead: boolean): Promise<void> {
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
      files.followUser();
      endReport(turn);
    });
  }

  /** Handles the end of an edit that no hook has reported. */
  async function editIsOver(edit: EditInProgress, isDead: boolean): Promise<void> {
    const { path = edit.named, turn } = edit;
    const change = files.get(path);
    if (change && !isDead) edits.late(edit, change);
    if (change) catchUp(change, await readState(path), isDead ? turn : commands.runner);
    edits.end(edit);
    files.tidy(path);
  }

  function endReport(turn: Turn): void {
    history.turnEnded(turn);
    report.ended(turn);
  }

  return {
    handle(step) {
      const { turn } = step;
      switch (step.kind) {
        case "started":
          files.followUser();
          void openPlaces().then(({ directories }) => commands.prepare(turn, directories));
          if (!turn.isSeen && options.isRestarted) report.missed(turn, RESTARTED);
          break;
        case "prompted":
          return enqueue(() => endReport(step.earlier));
        case "tool_starting":
          return toolStarts(step);
        case "tool_ended":
          return toolEnds(step);
        case "ended":
          return turnEnds(turn, step.isDead);
      }
      return enqueue(() => {}); // resolves after the earlier steps
    },
    agreed(filePath, hashes) {
      const real = realPath(filePath);
      void enqueue(async () => agreements.add(await real, hashes));
    },
    catchUp: (change, now) => catchUp(change, now, commands.runner),
  };
}
