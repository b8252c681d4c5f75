/**
 * Tracks changes that agents make without a review. Finds them each time a tool has run, shows them, and keeps or
 * undoes them as the user decides.
 */
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../base/log.ts";
import { Refusal } from "../base/refusal.ts";
import { createYielder } from "../base/work-slices.ts";
import type { changeEvents } from "../contract/changes.ts";
import type { Agent, AgentEvent } from "../contract/hooks.ts";
import type { Boot, Status } from "../contract/neovim.ts";
import type { Bridge, EventHandlers } from "../neovim/bridge.ts";
import { disk } from "../system/disk.ts";
import { type FileState, readStableState, readState, realPath, versionAt } from "../system/file-state.ts";
import { versionOf, withoutRename } from "../system/file-version.ts";
import type { UserFiles } from "../system/user-files.ts";
import { createAgentTurns } from "./agent-turns.ts";
import { createChangeMemory } from "./change-memory.ts";
import { createChangedFiles } from "./changed-files.ts";
import type { OpenPlaces } from "./commands.ts";
import { type FileChange, follow, obstacle, textOf, undone } from "./file-change.ts";
import { createHistory, type History } from "./history.ts";
import { answerHistoryRequests } from "./history-requests.ts";
import { createTracker } from "./hook-tracker.ts";
import { createDecisions } from "./keep-and-undo.ts";
import { oldLines, shownLines, wholeLines } from "./shown-lines.ts";
import { createStaging } from "./staging.ts";
import { createUndoNotes } from "./undo-notes.ts";
import { candidatesAt, isBelow } from "./work-tree.ts";

/** How long to wait for an answer of Lua. Lua cannot answer while Neovim shows a prompt. */
const LUA_TIMEOUT_MS = 200;

/**
 * Maximum time without a host during an edit or command. After a longer time, changes are not attributed to that edit
 * or command, because others have probably changed files, too.
 */
const MAX_ABSENCE_MS = 10_000;

export interface Changes {
  /**
   * Called for each event of a hook. Never rejects.
   * @param begun aborted when the tool begins, which may happen before the host has read the tool's files
   * @returns a promise that resolves when the tool may begin
   */
  listener(event: AgentEvent, begun?: AbortSignal): Promise<void>;
  /**
   * Called when the user has accepted a proposal for a file. If a text with one of these hashes is written to the file,
   * this is not an unreviewed change.
   */
  agreed(path: string, hashes: readonly string[]): void;
  /**
   * Returns a text that tells an agent what the user has undone since the last call.
   */
  undone(agent: Agent): string | undefined;
  /** Called when the last client of a CLI has disconnected. */
  left(cli: string): Promise<void>;
  /** Called when directories are opened in Neovim. */
  opened(directories: readonly string[]): Promise<void>;
  readonly history: History;
  readonly handlers: Pick<EventHandlers, keyof typeof changeEvents>;
  /** Stops watching the disk. Resolves when everything is stored for the next host. Idempotent. */
  close(): Promise<void>;
}

function counted(count: number, noun: string): string[] {
  return count === 0 ? [] : [`${count} ${noun}${count === 1 ? "" : "s"}`];
}

interface ChangesOptions {
  bridge: Bridge;
  /** Name of the terminal in which an agent runs, if known. */
  terminalOf(agent: Agent): string | undefined;
  userFiles: UserFiles;
  boot: Pick<Boot, "stateDirectory" | "instance" | "exclude" | "absence" | "notes" | "workspace">;
  report(change: Pick<Status, "changes">): void;
  log: Log;
}

export function createChanges({ bridge, terminalOf, userFiles, boot, report, log }: ChangesOptions): Changes {
  const { stateDirectory, instance, exclude, absence, workspace } = boot;
  const { directories } = workspace;
  const memory = createChangeMemory({ directory: stateDirectory, instance, exclude, log });
  const { mayKeep } = memory;
  const turns = createAgentTurns(memory.saveTurn);
  const history = createHistory({
    directory: stateDirectory,
    instance,
    mayKeep,
    authorOf: turns.latest,
    log,
  });
  const files = createChangedFiles({
    bridge,
    memory,
    look: (paths) => void enqueue(() => lookAgain(paths)),
    agentWrote(path, agent) {
      decisions.agentWrote(path, agent);
      staging.wrote(path);
    },
    report: (changes) => report({ changes }),
  });
  const tracker = createTracker({
    bridge,
    terminalOf,
    files,
    turns,
    history,
    memory: memory.commands,
    stateDirectory,
    directories,
    commandEnded: () => staging.commandEnded(),
    enqueue,
    openPlaces,
    resumed: () => resumed,
  });
  const { areCommandsRunning } = tracker;
  const notes = createUndoNotes({ sessionOf: turns.sessionOf, isShared: mayKeep });
  const decisions = createDecisions({
    bridge,
    files,
    history,
    userFiles,
    notes,
    enqueue: enqueueAfterGone,
    syncPath,
    settled: tracker.settled,
    areCommandsRunning,
  });
  const staging = createStaging({ files, history, enqueue, areCommandsRunning });
  let last: Promise<void> = Promise.resolve();
  const yieldIfDue = createYielder();

  /**
   * Runs functions one after the other. They must not overlap, because each compares the disk with the state that the
   * one before has updated.
   */
  function enqueue(run: () => void | Promise<void>): Promise<void> {
    const done = last.then(run).catch((error: unknown) => {
      if (error instanceof Refusal) bridge.tell("message", { level: "warn", text: error.message });
      else log.error("changes:", error);
    });
    last = done.then(yieldIfDue);
    return done;
  }

  /** Completes the edits and commands of agents that are gone, and then runs a function. */
  function enqueueAfterGone(run: () => Promise<void>): Promise<void> {
    void tracker.resolveGone();
    return enqueue(run);
  }

  async function openPlaces(): Promise<OpenPlaces | undefined> {
    const open = await Promise.race([
      bridge.call("files_open", {}).catch(() => undefined),
      delay(LUA_TIMEOUT_MS, undefined, { ref: false }),
    ]);
    return open && { files: open.paths, directories: open.directories };
  }

  async function restored(path: string, now: FileState): Promise<void> {
    bridge.tell("file_changed", { path });
    await wroteHere(path, now);
  }

  /** Compares all changed files with the disk, for example after a time in which they were not watched. */
  async function refresh(): Promise<void> {
    await lookAgain(new Set(files.all().map(({ path }) => path)));
    await staging.keep();
  }

  /**
   * Called with files that have changed on disk. Does nothing while a command runs, because the command may have
   * changed them.
   */
  async function lookAgain(paths: ReadonlySet<string>): Promise<void> {
    if (areCommandsRunning()) return;
    for (const path of paths) if (!files.awaitingAgent(path)) await syncPath(path);
  }

  /** Updates the change of a file with the state on disk, in case the file was written and nobody has reported it. */
  async function syncPath(path: string): Promise<void> {
    const change = files.get(path);
    if (!change || (await versionAt(path)) === change.version) return;
    const wereRunning = areCommandsRunning();
    const now = await readStableState(path);
    // If an agent has begun an edit or a command meanwhile, the file is compared when that edit or command ends.
    if (files.awaitingAgent(path) || areCommandsRunning() !== wereRunning) return;
    if (now.kind === "absent" && change.exists && !wereRunning) await followRename(change);
    tracker.catchUp(change, now);
  }

  /** If the file was renamed, lists its change under the new name. */
  async function followRename(change: FileChange): Promise<void> {
    const name = await findRenamed(change, (await openPlaces())?.files ?? []);
    if (name !== undefined && !files.get(name))
      files.set(follow({ ...change, path: name }, await readState(name)));
  }

  /** Called when the user has written a file, or an undo has restored it. */
  async function wroteHere(path: string, now: FileState): Promise<void> {
    tracker.settled(path, now);
    const change = files.get(path);
    if (change && now.version !== change.version) files.set(follow(change, now));
  }

  /** Loads what an earlier host has stored, and goes on tracking the agents' edits and commands that began then. */
  async function resume() {
    const saved = await memory.load();
    const isLong = absence !== undefined && absence.duration > MAX_ABSENCE_MS;
    tracker.resume(
      saved.awaited.map(({ agent }) => agent),
      isLong ? [] : saved.awaited,
      isLong ? saved.commands.map((command) => ({ ...command, snapshot: undefined })) : saved.commands,
    );
    const written = await Promise.all((absence?.written ?? []).map(readWrittenFile));
    return { saved, written };
  }

  const resumed = resume();

  /** Takes over the changes of files in these directories from Neovims that have ended. */
  async function takeLeft(open: readonly string[], noteCount: number): Promise<void> {
    const roots = await Promise.all(open.map(realPath));
    const isWanted = (path: string) => !files.get(path) && roots.some((root) => isBelow(path, root));
    const left = await memory.takeLeft(isWanted);
    files.restore({ changes: left, awaited: [] });
    for (const { path } of left) await syncPath(path);
    for (const { path } of left) staging.wrote(path);
    if (left.length > 0) await staging.keep();
    const count = left.filter(({ path }) => files.get(path)).length;
    const found = [...counted(count, "unreviewed change"), ...counted(noteCount, "note")].join(" and ");
    const remedy = count > 0 ? "see :GeminiChanges" : ":GeminiSend --notes sends them";
    if (found) bridge.tell("message", { level: "info", text: `${found} from an earlier session: ${remedy}` });
  }

  void enqueue(async () => {
    const { saved, written } = await resumed;
    turns.restore(saved.turns);
    const unawaited = files.restore(saved);
    for (const { path, now } of written) await wroteHere(path, now);
    for (const { path } of unawaited) await syncPath(path);
    void tracker.resolveGone();
    await takeLeft(directories, boot.notes);
  });

  /** Runs a function with the change of a file, if there is one. */
  function withChange(path: string, run: (change: FileChange) => void): Promise<void> {
    return enqueue(() => {
      const change = files.get(path);
      if (change) run(change);
    });
  }

  /**
   * Reads a file that the user has written. Its state is recorded at once, so that the write is not attributed to a
   * running command.
   */
  async function readWrittenFile(named: string): Promise<{ path: string; now: FileState }> {
    const path = await realPath(named);
    const now = await readState(path);
    tracker.settled(path, now);
    return { path, now };
  }

  const never = new AbortController().signal;
  return {
    listener: (event, begun = never) =>
      tracker.handle(event, begun).catch((error) => log.error("changes:", error)),
    agreed: tracker.agreed,
    undone: notes.take,
    left: tracker.resolveGone,
    opened: (open) => enqueue(() => takeLeft(open, 0)),
    history,
    handlers: {
      ...answerHistoryRequests({ bridge, history, enqueue, userFiles, restored }),
      file_written({ path: named }) {
        const seen = resumed.then(() => readWrittenFile(named));
        return enqueue(async () => {
          const { path, now } = await seen;
          await wroteHere(path, now);
        });
      },
      ...decisions.handlers,
      changes_refresh: () => enqueueAfterGone(refresh),
      change_lines_asked: ({ path }) =>
        withChange(path, ({ text }) => bridge.tell("change_lines", { path, hunks: oldLines(text) })),
      deleted_text_asked: ({ path }) =>
        withChange(path, (change) =>
          bridge.tell("deleted_text", { path, lines: shownLines(textOf(undone(change)) ?? "") }),
        ),
      change_before_asked: ({ path }) =>
        withChange(path, (change) => {
          const problem = obstacle(change);
          const lines = problem === undefined ? wholeLines(textOf(undone(change)) ?? "") : [];
          bridge.tell("change_before", { path, lines, problem });
        }),
    },
    async close() {
      files.close();
      staging.close();
      await tracker.close();
      await memory.close();
    },
  };
}

/**
 * Finds the new name of a changed file that the user has renamed.
 * @param openFiles files that are open in Neovim, which are searched as well as the folder of the file
 * @returns undefined if the file was not found, or was changed as well as renamed
 */
async function findRenamed(
  { path, version }: Pick<FileChange, "path" | "version">,
  openFiles: readonly string[],
): Promise<string | undefined> {
  const folder = dirname(path);
  const names = await disk.run(folder, () => readdir(folder)).catch((): string[] => []);
  const candidates = await candidatesAt([...openFiles, ...names.map((name) => join(folder, name))]);
  const renamed = candidates.find(
    ({ found }) => typeof found === "object" && withoutRename(versionOf(found)) === withoutRename(version),
  );
  return renamed && realPath(renamed.path);
}
