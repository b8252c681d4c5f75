/**
 * Tracks changes that agents make without asking for a review. The steps of turns become records of files
 * (follow-tools.ts, follow-disk.ts). Each update of a record (changed-files.ts) then has effects in Neovim, in the
 * history, and in the notes for the agent. The user's decisions update the records in the same way (keep-and-undo.ts).
 */
import { randomUUID } from "node:crypto";
import type { Log } from "../base/log.ts";
import { Refusal } from "../base/refusal.ts";
import type { changeEvents } from "../contract/changes.ts";
import type { Agent } from "../contract/hooks.ts";
import type { Boot } from "../contract/neovim.ts";
import type { Author, Turn, TurnStep } from "../contract/turns.ts";
import type { Bridge, Handlers } from "../neovim/bridge.ts";
import type { Store } from "../store/store.ts";
import { isBelow } from "../system/path-relations.ts";
import type { UserFiles } from "../system/user-files.ts";
import { createChangedFiles, type Update } from "./changed-files.ts";
import { createShellCommands } from "./commands/shell-commands.ts";
import { createStagedFiles } from "./commands/staged-files.ts";
import { bufferLines } from "./difference/compare-lines.ts";
import { createEditsInProgress } from "./edits-in-progress.ts";
import { obstacle, textBefore, textsOf } from "./file-change.ts";
import { createDiskFollower } from "./follow-disk.ts";
import { createToolFollower } from "./follow-tools.ts";
import { createHistory, type History } from "./history.ts";
import { answerHistoryRequests } from "./history-requests.ts";
import { createKeepAndUndo } from "./keep-and-undo.ts";
import { createOpenPlaces } from "./open-places.ts";
import { restoreAtStart } from "./restore-at-start.ts";
import { createQueue } from "./run-in-order.ts";
import { createShownChanges } from "./show-changes.ts";
import { createStorableFiles } from "./storable-files.ts";
import { createStoredChanges } from "./stored-changes.ts";
import { createTurnReport, type TurnReportOptions } from "./turn-report.ts";
import { createUndoNotes } from "./undo-notes.ts";

/** Maximum time for which a tool of an agent waits for a snapshot. */
const MAX_WAIT_MS = 1_500;

const RESTARTED = "the bridge was restarted during the turn";

export interface Changes {
  /**
   * Handles a step of a turn. Never rejects.
   * @returns a promise that resolves when the tool may begin
   */
  listener(step: TurnStep): Promise<void>;
  /**
   * Records that the user has accepted a proposed text for a file. If an agent then writes a text with one of these
   * hashes, this does not count as an undecided change.
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
  /** Takes the first snapshot of the open directories in the background. Call when a CLI has connected. */
  prepare(): void;
  /** Stops watching the disk. Idempotent. */
  close(): Promise<void>;
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
  const { bridge, store, userFiles, boot, agents, ownFolders, terminalOf, maxWait = MAX_WAIT_MS } = options;
  const { directories } = boot.workspace;
  const { inOrder, enqueue } = createQueue(bridge, options.log);
  const openPlaces = createOpenPlaces(bridge, directories);
  const storable = createStorableFiles(boot.sharing.exclude);
  const { mayStore } = storable;
  const areAgentsAtWork = () => agents.areRunning;

  // The records of changed files.
  const edits = createEditsInProgress();
  const stored = createStoredChanges(store, mayStore);
  const isOwnFile = (cli: string, path: string) =>
    ownFolders.get(cli)?.some((folder) => isBelow(path, folder)) ?? false;
  const files = createChangedFiles({ stored, edits, isOwnFile });

  // The effects of each update of a record.
  const shown = createShownChanges({ bridge, files, areAgentsAtWork });
  const history = createHistory({ store, mayStore, authorOf: agents.latest });
  files.on((update) => record(history, update));
  const report = createTurnReport({ bridge, terminalOf, shown: shown.all });
  const notes = createUndoNotes(mayStore);

  // The writes of agents and of the user.
  const instance = `${process.pid}-${randomUUID()}`;
  const commands = createShellCommands({
    stateDirectory: boot.paths.state,
    instance,
    mayKeep: mayStore,
    maxWait,
  });
  const areCommandsRunning = () => commands.runner !== undefined;
  const staging = createStagedFiles({ files, enqueue, areCommandsRunning });
  files.on(({ path, wrote }) => wrote && staging.wrote(path));
  const disk = createDiskFollower({ files, edits, commands, openPlaces, enqueue });
  const common = { files, edits, commands, openPlaces, enqueue, areAgentsAtWork };
  const tools = createToolFollower({ ...common, report, history, staging });

  // The decisions of the user.
  const decide = <T>(run: () => T | Promise<T>): Promise<T> => {
    agents.endDead();
    return inOrder(run);
  };
  const deciding = { bridge, files, edits, commands, disk, userFiles, notes, history, inOrder: decide };

  function turnEnded(turn: Turn): void {
    history.turnEnded(turn);
    report.ended(turn);
  }

  function handle(step: TurnStep): Promise<void> {
    const { turn } = step;
    switch (step.kind) {
      case "started":
        shown.followUser();
        void openPlaces().then((open) => commands.prepare([turn.cwd, ...open.directories]));
        if (!turn.isSeen && boot.previous !== undefined) report.missed(turn, RESTARTED);
        break;
      case "prompted":
        return enqueue(() => turnEnded(step.earlier));
      case "tool_starting":
        return tools.starts(step);
      case "tool_ended":
        return tools.ends(step);
      case "ended":
        void tools.turnEnds(turn, step.isDead);
        return enqueue(() => {
          shown.followUser();
          turnEnded(turn);
        });
    }
    return enqueue(() => {}); // resolves after the earlier steps
  }

  const start = { bridge, store, stored, files, disk, staging, mayStore, directories, notes: boot.notes };
  void enqueue(async () => {
    await restoreAtStart(start);
    shown.followUser();
  });

  return {
    listener: (step) => handle(step).catch((error) => options.log.error("changes:", error)),
    agreed: tools.agreed,
    undone: notes.take,
    history,
    handlers: {
      ...disk.handlers,
      ...createKeepAndUndo(deciding),
      ...answerHistoryRequests(deciding),
      changes_refresh() {
        agents.endDead();
        return enqueue(async () => {
          await disk.lookAgain(files.all().map(({ path }) => path));
          await staging.keep();
        });
      },
      earlier_text: ({ path }) =>
        inOrder(() => {
          const change = files.get(path);
          if (!change) throw new Refusal("it has no undecided changes");
          return { lines: bufferLines(textBefore(change)), problem: obstacle(change) };
        }),
    },
    prepare: () => void openPlaces().then((places) => commands.prepare(places.directories)),
    async close() {
      disk.close();
      staging.close();
      storable.close();
      await commands.close();
    },
  };
}

/** Records the writes of agents and the user's decisions in the history. */
function record(history: History, { path, wrote, decision }: Update): void {
  if (decision === "kept") history.kept(path);
  const texts = wrote && textsOf(wrote.before, wrote.after);
  if (wrote && texts && texts.before !== texts.after) history.wrote(wrote.turn, wrote.before, texts);
}
