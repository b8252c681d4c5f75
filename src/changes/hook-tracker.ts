/**
 * Detects which changes agents make with edits and shell commands. Uses the steps of their turns to distinguish these
 * changes from those of the user and other programs.
 */
import { createYielder } from "../base/work-slices.ts";
import type { Begun, EditTexts, Tool } from "../contract/hooks.ts";
import type { Turn, TurnStep } from "../contract/turns.ts";
import { type FileState, readState, realPath, unknown } from "../system/file-state.ts";
import { createAgreements } from "./agreements.ts";
import type { ChangedFiles } from "./changed-files.ts";
import { LATE } from "./command-snapshot.ts";
import { type CommandResult, createCommands, type EarlierWrite, type OpenPlaces } from "./commands.ts";
import type { EditInProgress, EditsInProgress } from "./edits-in-progress.ts";
import { type FileChange, fileStateOf, follow, textsOf } from "./file-change.ts";
import type { History } from "./history.ts";
import { beforeTold } from "./told-texts.ts";
import type { TurnReport } from "./turn-report.ts";

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
  /** Records that the user or an undo has written a file, so that the write is not attributed to an agent. */
  settled(path: string, now: FileState): void;
  areCommandsRunning(): boolean;
  /** Updates a change record from the state on disk after a write that no hook has reported. */
  catchUp(change: FileChange, now: FileState): void;
  /**
   * Finds out what running commands have changed in a file so far.
   * @returns a function that lists these changes. `enqueue` must run the function
   */
  look(path: string, now: FileState): () => Promise<void>;
}

interface TrackerOptions {
  files: ChangedFiles;
  edits: EditsInProgress;
  report: TurnReport;
  history: History;
  /** Returns whether a CLI has written this file for itself, outside the user's project. */
  isOwnFile(cli: string, path: string): boolean;
  /** Directory of the plugin's own files. These files are not tracked. */
  stateDirectory: string;
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

/** State of a file before an edit, and what a running command may have changed in the file before. */
interface SeenBefore extends Seen {
  readonly earlier: Promise<EarlierWrite | undefined>;
}

/** A command that has begun, and whose end was not reported yet. */
interface BegunCommand {
  readonly turn: Turn;
  readonly command: string;
}

export function createTracker(options: TrackerOptions): Tracker {
  const { files, edits, report, history, openPlaces, enqueue } = options;
  const commands = createCommands(options.stateDirectory);
  const agreements = createAgreements();
  const begunCommands = new Set<BegunCommand>();
  /**
   * For each file that a command has changed while an agent was about to edit the file: the change, and the version of
   * the file's change record then. If the agent does not edit the file, the change is attributed to the command.
   */
  const unclear = new Map<string, { turn: Turn; after: FileState; since: string | undefined }>();

  /** Reads the file at once, even if earlier steps are still waiting to be handled. */
  async function readBeforeEdit(edit: EditInProgress, begun: Begun): Promise<SeenBefore> {
    const path = await realPath(edit.named);
    edit.path = path;
    files.tidy(path);
    const now = await readState(path);
    const seen = begun.aborted ? unknown(LATE) : now;
    commands.editing(path, seen);
    return { path, now: seen, earlier: findEarlier(path, seen).catch(() => undefined) };
  }

  /** Finds out whether a running command has changed a file. */
  async function findEarlier(path: string, now: FileState): Promise<EarlierWrite | undefined> {
    return now.kind === "unknown" ? undefined : (await commands.earlier(new Map([[path, now]]))).get(path);
  }

  /** Lists what a running command has changed in a file that is not listed yet. @returns the new change record */
  function takeEarlier(path: string, now: FileState, earlier?: EarlierWrite): FileChange | undefined {
    if (!earlier || agreements.has(path, now)) return undefined;
    wrote(earlier.agent, files.begin(path, earlier.before, earlier.agent), now);
    return files.get(path);
  }

  async function readAfterEdit(named: string, known: string | undefined): Promise<Seen> {
    const path = known ?? (await realPath(named));
    const now = await readState(path);
    commands.settled(path, now);
    return { path, now };
  }

  async function editStarts(turn: Turn, seen: SeenBefore): Promise<void> {
    const { path, now } = seen;
    const known = files.get(path) ?? takeEarlier(path, now, await seen.earlier);
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
    takeUnclear(path, failed ? undefined : now);
    const known = late ?? files.get(path);
    const isReviewed = agreements.take(path, now);
    // No hook reported the start of this edit, for example because the host process was not running.
    if (!known && (failed || isReviewed)) return;
    const before = await recordBefore(turn, seen, known, texts);
    if (isReviewed) {
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
      await seen;
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
        const found = await result;
        if (found) await commandEnds(turn, found);
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

  async function commandStarts(turn: Turn, command: string, begun: Begun): Promise<Map<string, FileState>> {
    const places = await openPlaces();
    const known = [...places.files, ...files.known().map(({ path }) => path)];
    const snapshot = await commands.start(turn, command, { ...places, files: known }, begun);
    return snapshot.files;
  }

  /**
   * Updates the known change records from the snapshot before a command.
   * @param runner turn of an earlier command that is still running. Unreported differences are attributed to this turn
   */
  function takeBefore(snapshot: ReadonlyMap<string, FileState>, runner: Turn | undefined): void {
    for (const change of files.known()) {
      const now = snapshot.get(change.path);
      if (now && !edits.agentAt(change.path)) catchUp(change, now, runner);
    }
  }

  /**
   * Compares a file with its last known state. Attributes a difference to `turn`, or to the user if `turn` is
   * undefined.
   */
  function catchUp(change: FileChange, now: FileState, turn: Turn | undefined): void {
    if (now.version === change.version) return;
    if (turn) {
      commands.noticed(fileStateOf(change), change.path, now);
      wrote(turn, change, now);
    } else files.set(follow(change, now));
  }

  /**
   * Attributes a change of a command to this command after another agent's edit of the file has ended.
   * @param now state after the edit; undefined if the edit was not made. If the state is still the same as after the
   * command, the author is unknown
   */
  function takeUnclear(path: string, now?: FileState): void {
    const found = unclear.get(path);
    const change = files.get(path);
    unclear.delete(path);
    if (!found || !change || found.since !== change.version) return;
    if (now?.version !== found.after.version) catchUp(change, found.after, found.turn);
  }

  async function commandEnds(turn: Turn, result: CommandResult | undefined): Promise<void> {
    if (!result) return;
    const yieldIfDue = createYielder();
    for (const gap of result.gaps) report.missed(turn, gap);
    for (const { path, before, after, isBeforeEdit, earlier } of result.written) {
      await yieldIfDue();
      if (edits.agentAt(path) && !isBeforeEdit) {
        unclear.set(path, { turn, after, since: files.get(path)?.version });
        continue;
      }
      const known = files.get(path) ?? takeEarlier(path, before, earlier);
      const change = known ?? files.begin(path, before, turn);
      if (agreements.take(path, after)) files.set(follow(change, after));
      else wrote(turn, change, after);
    }
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
    // What the agent begins later belongs to its next turn, although this turn may not be handled yet.
    const endingEdits = edits.allEnding(turn);
    const endingCommands = [...begunCommands].filter((one) => one.turn.session === turn.session);
    for (const one of endingCommands) begunCommands.delete(one);
    return enqueue(async () => {
      for (const one of endingCommands) await commandEnds(one.turn, await commands.end(turn, one.command));
      for (const edit of endingEdits) await editIsOver(edit, isDead);
      if (!options.areAgentsAtWork()) {
        commands.forget();
        agreements.clear();
      }
      files.followUser();
      endReport(turn);
    });
  }

  /** Handles the end of an edit that no hook has reported. */
  async function editIsOver(edit: EditInProgress, isDead: boolean): Promise<void> {
    const { path = edit.named, turn } = edit;
    takeUnclear(path);
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
    settled(path, now) {
      edits.settled(path);
      commands.settled(path, now);
    },
    areCommandsRunning: () => commands.runner !== undefined,
    catchUp: (change, now) => catchUp(change, now, commands.runner),
    look(path, now) {
      const earlier = findEarlier(path, now).catch(() => undefined);
      return async () => {
        const known = files.get(path);
        if (edits.agentAt(path)) return;
        if (known) catchUp(known, now, commands.runner);
        else takeEarlier(path, now, await earlier);
      };
    },
  };
}
