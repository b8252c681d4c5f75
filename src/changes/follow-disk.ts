/** Compares the changed files with the disk, and tells writes of the user from those of agents. */
import { Refusal } from "../base/refusal.ts";
import type { Handlers } from "../neovim/bridge.ts";
import {
  type FileState,
  readSeen,
  readStableState,
  readState,
  realPath,
  versionAt,
} from "../system/file-state.ts";
import { createFileWatch } from "../system/file-watch.ts";
import type { ChangedFiles } from "./changed-files.ts";
import { findMovedFile } from "./commands/find-moved-file.ts";
import type { OpenPlaces, ShellCommands } from "./commands/shell-commands.ts";
import type { EditsInProgress } from "./edits-in-progress.ts";
import { type FileChange, follow } from "./file-change.ts";
import type { Queue } from "./run-in-order.ts";

export interface DiskFollower {
  /** Compares files with the disk, in case a write was not reported. */
  compare(paths: Iterable<string>): Promise<void>;
  /** Like `compare`, but does nothing during an agent's command, whose end triggers a comparison. */
  lookAgain(paths: Iterable<string>): Promise<void>;
  /**
   * Compares a file with the disk before a decision of the user writes the file.
   * @throws {Refusal} while an agent is editing the file
   */
  prepare(path: string): Promise<void>;
  /** Records that the user or an undo has written a file, so that the write does not count as a running command's. */
  settled(path: string, now: FileState): void;
  /** Like `settled`, and updates the record of the file. */
  wroteHere(path: string, now: FileState): void;
  readonly handlers: Pick<Handlers, "file_read" | "file_written">;
  /** Stops watching the disk. Idempotent. */
  close(): void;
}

interface DiskFollowerOptions {
  files: ChangedFiles;
  edits: Pick<EditsInProgress, "agentAt" | "settled">;
  commands: ShellCommands;
  openPlaces(): Promise<OpenPlaces>;
  enqueue: Queue["enqueue"];
}

export function createDiskFollower(options: DiskFollowerOptions): DiskFollower {
  const { files, edits, commands, openPlaces, enqueue } = options;
  const areCommandsRunning = () => commands.runner !== undefined;
  const watch = createFileWatch((paths) => void enqueue(() => lookAgain(paths)));
  files.on(({ path }) => (files.outline(path) ? watch.add(path) : watch.remove(path)));

  async function compareOne(path: string): Promise<void> {
    const version = files.outline(path)?.version;
    if (version === undefined || edits.agentAt(path) || (await versionAt(path)) === version) return;
    const wereRunning = areCommandsRunning();
    const now = await readStableState(path);
    // Stops if an agent's edit or command has begun or ended meanwhile. The end of each edit and command triggers
    // another comparison.
    const change = files.get(path);
    if (!change || edits.agentAt(path) || areCommandsRunning() !== wereRunning) return;
    if (now.kind === "absent" && change.exists && !wereRunning) await followRename(change);
    files.follow(change, now, commands.runner);
  }

  /** If the user has renamed the file, lists the change under the new path. */
  async function followRename(change: FileChange): Promise<void> {
    const name = await findMovedFile(change, await openPlaces(), commands);
    if (name !== undefined && !files.outline(name))
      files.set(follow({ ...change, path: name }, await readState(name)));
  }

  async function compare(paths: Iterable<string>): Promise<void> {
    for (const path of paths) await compareOne(path);
  }

  async function lookAgain(paths: Iterable<string>): Promise<void> {
    if (!areCommandsRunning()) await compare(paths);
  }

  function settled(path: string, now: FileState): void {
    edits.settled(path);
    commands.noticed(path, { to: now, isUser: true });
  }

  function wroteHere(path: string, now: FileState): void {
    settled(path, now);
    const change = files.get(path);
    if (change) files.follow(change, now);
  }

  /** Reads a file that the user has written at once, so that the write does not count as a running command's. */
  async function readWritten(named: string): Promise<{ path: string; now: FileState }> {
    const path = await realPath(named);
    const now = await readState(path);
    settled(path, now);
    return { path, now };
  }

  return {
    compare,
    lookAgain,
    async prepare(path) {
      const agent = edits.agentAt(path);
      if (agent)
        throw new Refusal(`${agent.cli} is changing ${path}: answer if the CLI asks you, then try again`);
      await compareOne(path);
    },
    settled,
    wroteHere,
    handlers: {
      async file_read({ path: named, version }) {
        if (!areCommandsRunning()) return;
        const path = await realPath(named);
        const from = await readSeen(path, version);
        if (from) commands.noticed(path, { from, isUser: true });
      },
      file_written({ path: named }) {
        const seen = readWritten(named);
        return enqueue(async () => {
          const { path, now } = await seen;
          wroteHere(path, now);
        });
      },
    },
    close: watch.close,
  };
}
