/**
 * Tracks changes that agents make without asking for a review. Finds the changes after each tool run, shows them in
 * Neovim, and keeps or undoes them on the user's command.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../base/log.ts";
import { Refusal } from "../base/refusal.ts";
import { createYielder } from "../base/work-slices.ts";
import type { changeEvents } from "../contract/changes.ts";
import type { Agent } from "../contract/hooks.ts";
import type { Boot } from "../contract/neovim.ts";
import type { Author, TurnStep } from "../contract/turns.ts";
import type { Bridge, Handlers } from "../neovim/bridge.ts";
import type { Store } from "../store/store.ts";
import {
  type FileState,
  readSeen,
  readStableState,
  readState,
  realPath,
  versionAt,
} from "../system/file-state.ts";
import { isBelow } from "../system/path-relations.ts";
import type { UserFiles } from "../system/user-files.ts";
import { createChangedFiles } from "./changed-files.ts";
import { findMovedFile } from "./commands/find-moved-file.ts";
import { createShellCommands, type OpenPlaces } from "./commands/shell-commands.ts";
import { createStagedFiles } from "./commands/staged-files.ts";
import { createEditsInProgress } from "./edits-in-progress.ts";
import { type FileChange, follow, obstacle, textBefore } from "./file-change.ts";
import { createHistory, type History } from "./history.ts";
import { answerHistoryRequests } from "./history-requests.ts";
import { createTracker } from "./hook-tracker.ts";
import { createDecisions } from "./keep-and-undo.ts";
import { bufferLines } from "./line-diff.ts";
import { createStorableFiles } from "./storable-files.ts";
import { createStoredChanges } from "./stored-changes.ts";
import { createTurnReport, type TurnReportOptions } from "./turn-report.ts";
import { createUndoNotes } from "./undo-notes.ts";

/** Timeout for an answer of Lua. Lua cannot answer while Neovim shows a prompt. */
const LUA_TIMEOUT_MS = 200;

/** Maximum time for which a tool of an agent waits for a snapshot. */
const MAX_WAIT_MS = 1_500;

export interface Changes {
  /**
   * Handles a step of a turn. Never rejects.
   * @returns a promise that resolves when the tool may begin
   */
  listener(step: TurnStep): Promise<void>;
  /**
   * Records that the user has accepted a proposed text for a file. If an agent then writes a text with one of these
   * hashes, this does not count as an unreviewed change.
   * @param hashes hashes of the texts that the agent may write
   */
  agreed(path: string, hashes: readonly string[]): void;
  /**
   * Returns a message that tells an agent which changes the user has undone since the last call; undefined if there are
   * none.
   */
  undone(agent: Agent): string | undefined;
  readonly history: History;
  readonly handlers: ReturnType<typeof answerHistoryRequests> &
    Pick<
      Handlers,
      keyof typeof changeEvents | "changes_keep" | "changes_undo" | "changes_revert" | "earlier_text"
    >;
  /** Stops watching the disk. Idempotent. */
  close(): Promise<void>;
}

function counted(count: number, noun: string): string[] {
  return count === 0 ? [] : [`${count} ${noun}${count === 1 ? "" : "s"}`];
}

/** The part of `turns` that `changes` uses. */
interface Agents {
  /** Returns the author of the newest turn of a CLI. */
  latest(cli: string): Author;
  /** Whether any agent is in a turn. */
  readonly areRunning: boolean;
  /** Ends the turns of agents whose process has ended. */
  endDead(): void;
}

interface ChangesOptions extends Pick<TurnReportOptions, "terminalOf"> {
  agents: Agents;
  /** For each CLI: the folders in which it writes for itself. They need not exist. */
  ownFolders: ReadonlyMap<string, readonly string[]>;
  bridge: Bridge;
  store: Store;
  userFiles: UserFiles;
  boot: Pick<Boot, "paths" | "sharing" | "notes" | "workspace" | "previous">;
  log: Log;
  /** See {@link ShellCommandsOptions}. */
  maxWait?: number;
}

export function createChanges(options: ChangesOptions): Changes {
  const { bridge, store, userFiles, boot, log, terminalOf, agents, ownFolders } = options;
  const { maxWait = MAX_WAIT_MS } = options;
  const { paths, workspace } = boot;
  const { directories } = workspace;
  const storable = createStorableFiles(boot.sharing.exclude);
  const { mayStore } = storable;
  const instance = `${process.pid}-${randomUUID()}`;
  const commands = createShellCommands({ stateDirectory: paths.state, instance, mayKeep: mayStore, maxWait });
  const areCommandsRunning = () => commands.runner !== undefined;
  const stored = createStoredChanges(store, mayStore);
  const edits = createEditsInProgress();
  const areAgentsAtWork = () => agents.areRunning;
  const history = createHistory({ store, mayStore, authorOf: agents.latest });
  const files = createChangedFiles({
    bridge,
    stored,
    look: (paths) => void enqueue(() => lookAgain(paths)),
    isBeingEdited: (path) => edits.agentAt(path) !== undefined,
    areAgentsAtWork,
    agentWrote(path, turn) {
      decisions.agentWrote(path, turn);
      staging.wrote(path);
    },
  });
  const report = createTurnReport({ bridge, terminalOf, files });
  const tracker = createTracker({
    files,
    edits,
    report,
    history,
    isOwnFile: (cli, path) => ownFolders.get(cli)?.some((folder) => isBelow(path, folder)) ?? false,
    isRestarted: boot.previous !== undefined,
    areAgentsAtWork,
    commands,
    commandEnded: () => staging.commandEnded(),
    enqueue,
    openPlaces,
  });
  const notes = createUndoNotes(mayStore);
  const decisions = createDecisions({
    bridge,
    files,
    edits,
    history,
    userFiles,
    notes,
    inOrder: inOrderAfterDead,
    syncPath: (path) => syncPaths([path]),
    settled,
    areCommandsRunning,
  });
  const staging = createStagedFiles({ files, history, enqueue, areCommandsRunning });
  let last: Promise<void> = Promise.resolve();
  const yieldIfDue = createYielder();

  /**
   * Runs functions one after the other. They must not overlap, because each function compares the disk with the state
   * that the previous function has left.
   * @returns the result of the function
   * @throws the error of the function
   */
  function inOrder<T>(run: () => T | Promise<T>): Promise<T> {
    const done = last.then(run);
    last = done.then(yieldIfDue, yieldIfDue);
    return done;
  }

  /** Runs functions like `inOrder`. Shows the message of a thrown {@link Refusal} to the user, and logs other errors. */
  function enqueue(run: () => void | Promise<void>): Promise<void> {
    return inOrder(run).catch((error: unknown) => {
      if (error instanceof Refusal) bridge.tell("message", { level: "warn", text: error.message });
      else log.error("changes:", error);
    });
  }

  /** Ends the turns of agents whose process has ended. Then runs a function like `inOrder`. */
  function inOrderAfterDead<T>(run: () => T | Promise<T>): Promise<T> {
    agents.endDead();
    return inOrder(run);
  }

  let lastPlaces: OpenPlaces = { files: [], directories };

  /** Returns what is open in Neovim. If Neovim does not answer, returns its last answer. */
  async function openPlaces(): Promise<OpenPlaces> {
    const open = await Promise.race([
      bridge.call("files_open", {}).catch(() => undefined),
      delay(LUA_TIMEOUT_MS, undefined, { ref: false }),
    ]);
    if (open) lastPlaces = { files: open.paths, directories: open.directories };
    return lastPlaces;
  }

  /** Records that the user or an undo has written a file, so that the write is not attributed to a running command. */
  function settled(path: string, now: FileState): void {
    edits.settled(path);
    commands.noticed(path, { to: now, isUser: true });
  }

  async function restored(path: string, now: FileState): Promise<void> {
    bridge.tell("file_changed", { path });
    await wroteHere(path, now);
  }

  /** Compares all changed files with the disk. Keeps changes that the user has staged in Git. */
  async function refresh(): Promise<void> {
    await lookAgain(new Set(files.all().map(({ path }) => path)));
    await staging.keep();
  }

  /**
   * Compares files with the disk. Does nothing during an agent's command, because the end of the command triggers a
   * comparison.
   */
  async function lookAgain(paths: ReadonlySet<string>): Promise<void> {
    if (areCommandsRunning()) return;
    await syncPaths(paths);
  }

  /** Compares files with the disk, in case a write was not reported. Updates the change records of the files. */
  async function syncPaths(paths: Iterable<string>): Promise<void> {
    for (const path of paths) await syncPath(path);
  }

  async function syncPath(path: string): Promise<void> {
    const change = files.get(path);
    if (!change || edits.agentAt(path) || (await versionAt(path)) === change.version) return;
    const wereRunning = areCommandsRunning();
    const now = await readStableState(path);
    // Stops if an agent's edit or command has begun or ended meanwhile. The end of each edit and command triggers
    // another comparison.
    if (edits.agentAt(path) || areCommandsRunning() !== wereRunning) return;
    if (now.kind === "absent" && change.exists && !wereRunning) await followRename(change);
    tracker.catchUp(change, now);
  }

  /** If the user has renamed the file, lists the change under the new path. */
  async function followRename(change: FileChange): Promise<void> {
    const name = await findMovedFile(change, await openPlaces(), commands);
    if (name !== undefined && !files.get(name))
      files.set(follow({ ...change, path: name }, await readState(name)));
  }

  /** Updates the change record of a file that the user or an undo has written. */
  async function wroteHere(path: string, now: FileState): Promise<void> {
    settled(path, now);
    const change = files.get(path);
    if (change && now.version !== change.version) files.set(follow(change, now));
  }

  /**
   * Restores stored changes that are not listed yet.
   * @param isWanted selects files by path
   * @returns the paths of those that are still changed
   */
  async function restoreStored(isWanted = (_path: string) => true): Promise<string[]> {
    const changes = stored.restore().filter(({ path }) => !files.get(path) && isWanted(path));
    files.restore(changes);
    await syncPaths(changes.map(({ path }) => path));
    return changes.map(({ path }) => path).filter((path) => files.get(path));
  }

  /** Takes over the undecided changes of ended Neovims with the same directories, and tells the user. */
  async function takeOver(): Promise<void> {
    await store.takeOver(directories);
    const taken = await restoreStored(mayStore);
    for (const path of taken) staging.wrote(path);
    if (taken.length > 0) await staging.keep();
    const count = taken.filter((path) => files.get(path)).length;
    const found = [...counted(count, "unreviewed change"), ...counted(boot.notes, "note")].join(" and ");
    const remedy = count > 0 ? "see :GeminiChanges" : "send them with :GeminiSend --notes";
    if (found) bridge.tell("message", { level: "info", text: `${found} from an earlier session: ${remedy}` });
  }

  void enqueue(async () => {
    await restoreStored(); // of the earlier host of this Neovim
    await takeOver();
  });

  /**
   * Reads a file that the user has written. Records the new state at once, so that the write is not attributed to an
   * agent's running command.
   */
  async function readWrittenFile(named: string): Promise<{ path: string; now: FileState }> {
    const path = await realPath(named);
    const now = await readState(path);
    settled(path, now);
    return { path, now };
  }

  return {
    listener(step) {
      if (step.kind === "started" || step.kind === "prompted") notes.started(step.turn);
      return tracker.handle(step).catch((error) => log.error("changes:", error));
    },
    agreed: tracker.agreed,
    undone: notes.take,
    history,
    handlers: {
      ...answerHistoryRequests({
        bridge,
        history,
        inOrder: inOrderAfterDead,
        userFiles,
        async prepare(path) {
          await decisions.prepare(path);
          if (areCommandsRunning()) commands.noticed(path, { from: await readState(path), isUser: true });
        },
        restored,
      }),
      async file_read({ path: named, version }) {
        if (!areCommandsRunning()) return;
        const path = await realPath(named);
        const from = await readSeen(path, version);
        if (from) commands.noticed(path, { from, isUser: true });
      },
      file_written({ path: named }) {
        const seen = readWrittenFile(named);
        return enqueue(async () => {
          const { path, now } = await seen;
          await wroteHere(path, now);
        });
      },
      ...decisions.handlers,
      changes_refresh() {
        agents.endDead();
        return enqueue(refresh);
      },
      earlier_text: ({ path }) =>
        inOrder(() => {
          const change = files.get(path);
          if (!change) throw new Refusal("it has no undecided changes");
          return { lines: bufferLines(textBefore(change)), problem: obstacle(change) };
        }),
    },
    async close() {
      files.close();
      staging.close();
      storable.close();
      await commands.close();
    },
  };
}
