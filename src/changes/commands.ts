/**
 * Finds the files that agents change with shell commands. Takes a snapshot before each command, and compares the files
 * with the snapshot after the command.
 */
import { createYielder } from "../base/work-slices.ts";
import type { Begun } from "../contract/hooks.ts";
import type { Turn } from "../contract/turns.ts";
import { type FileState, inodeOf, readState, unknown } from "../system/file-state.ts";
import { compare, statesBefore, TOO_MUCH, type Touched } from "./command-comparison.ts";
import { createSnapshots, lengthOf, type Snapshot } from "./command-snapshot.ts";
import type { Scope } from "./work-tree.ts";

/**
 * Maximum total length of the changed files that are read after a command (characters). Further files are listed
 * without their text.
 */
const MAX_TEXT_LENGTH = 64 * 1024 * 1024;

/** The files and directories that are open in Neovim, as absolute paths. */
export interface OpenPlaces {
  readonly files: readonly string[];
  readonly directories: readonly string[];
}

export interface Written extends Touched {
  readonly after: FileState;
  /** True if an agent began to edit the file after the command had ended. `after` is the state before this edit. */
  readonly isBeforeEdit: boolean;
  /** Set if another command, which is still running, has changed the file before. */
  readonly earlier?: EarlierWrite | undefined;
}

/** A change of a file by a command that is still running. */
export interface EarlierWrite {
  readonly agent: Turn;
  /** State of the file before the change. */
  readonly before: FileState;
}

export interface CommandResult {
  readonly written: readonly Written[];
  /** Reasons why changes may be missing, such as "Git did not answer after a command". */
  readonly gaps: readonly string[];
}

export interface Commands {
  /**
   * Takes the snapshot before a command.
   * @param begun aborted when the command begins. Files that were not read before this moment count as unknown
   */
  start(agent: Turn, command: string, places: OpenPlaces, begun: Begun): Promise<Snapshot>;
  /**
   * Ends a command, and compares the files with the snapshot from before the command.
   * @returns undefined if no hook reported the start of the command
   */
  end(agent: Turn, command: string): Promise<CommandResult | undefined>;
  /** Returns the running commands of an agent. */
  ofAgent(agent: Turn): string[];
  /**
   * Agent of the running command that started last; undefined if no command is running. Changes by an unknown author
   * are attributed to this agent.
   */
  readonly runner: Turn | undefined;
  /** Records that the user or a tool has written a file, so that the write is not attributed to a running command. */
  settled(path: string, now: FileState): void;
  /** Records that a running command has written a file. @param before state of the file before that write */
  noticed(before: FileState, path: string, now: FileState): void;
  /**
   * Finds the files that running commands have changed. Must be called before others write these files: the comparison
   * at the end of a command leaves out what others have written, and would not find the earlier change.
   * @param states current states of the files
   */
  earlier(states: ReadonlyMap<string, FileState>): Promise<Map<string, EarlierWrite>>;
  /**
   * Records the state of a file just before an agent's edit. Otherwise, a comparison that still runs after a command
   * could attribute the edit to the command.
   */
  editing(path: string, now: FileState): void;
  /** Empties the cache of files that were read for the last snapshot. */
  forget(): void;
}

interface Command {
  readonly agent: Turn;
  readonly command: string;
  readonly scope: Scope;
  readonly snapshot: Promise<Snapshot>;
  /** The snapshot, as soon as it is complete. */
  taken?: Snapshot;
  /** For each file that the user or another agent has written during the command: its state after the write. */
  readonly settled: Map<string, FileState>;
  /** Inodes of files whose content before the command is known. An inode still identifies a file after a rename. */
  readonly noticed: Set<number>;
  /**
   * For each file that an agent has edited after the command, but before the end of the comparison: its state before
   * this edit, and its entry in `settled` at that time.
   */
  readonly seen: Map<string, { now: FileState; settled: FileState | undefined }>;
  hasEnded: boolean;
}

/**
 * Creates the tracker of shell commands.
 * @param except directory of the plugin's own files. These files are not tracked
 */
export function createCommands(except: string): Commands {
  const snapshots = createSnapshots();
  const running = new Set<Command>();

  function begin(one: Pick<Command, "agent" | "command" | "scope" | "snapshot">): void {
    const command: Command = {
      ...one,
      settled: new Map(),
      noticed: new Set(),
      seen: new Map(),
      hasEnded: false,
    };
    running.add(command);
    one.snapshot.then(
      (taken) => Object.assign(command, { taken }),
      () => {},
    );
  }

  async function result(one: Command): Promise<CommandResult> {
    const { settled, noticed, seen, scope } = one;
    const snapshot = await one.snapshot;
    const { touched, gaps } = await compare({ snapshot, settled, noticed, scope });
    const written: Written[] = [];
    let size = 0;
    const yieldIfDue = createYielder();
    for (const { path, before } of touched) {
      await yieldIfDue();
      const edited = seen.get(path);
      const after = edited?.now ?? (await readState(path));
      if (isEditorFile(path, before) || isEditorFile(path, after)) continue;
      size += lengthOf(after);
      const fits =
        size <= MAX_TEXT_LENGTH ? after : { ...after, ...unknown(TOO_MUCH), version: after.version };
      // Looks up `settled` again, because the user or another agent may have written the file during the comparison.
      const now = edited ? edited.settled : settled.get(path);
      written.push({ path, before: now ?? before, after: fits, isBeforeEdit: edited !== undefined });
    }
    return { written: written.filter(({ before, after }) => before.version !== after.version), gaps };
  }

  function settled(path: string, now: FileState): void {
    for (const one of running) one.settled.set(path, now);
  }

  /** @param until time of the states (Unix milliseconds). Commands that started later did not cause these states */
  async function earlier(
    states: ReadonlyMap<string, FileState>,
    until = Number.POSITIVE_INFINITY,
  ): Promise<Map<string, EarlierWrite>> {
    const found = new Map<string, EarlierWrite>();
    const paths = [...states.keys()];
    // Copies what is settled now, because others may write the files while this function reads from Git.
    const commands = [...running].map((one) => ({
      one,
      settled: new Map(paths.flatMap((path) => entryOf(one.settled, path))),
      // Before its snapshot is complete, a command has changed nothing.
      snapshot: one.hasEnded ? undefined : one.taken,
    }));
    for (const { one, settled, snapshot } of commands) {
      const { agent, noticed, scope } = one;
      if (!snapshot || snapshot.since >= until) continue;
      const before = await statesBefore(paths, { snapshot, settled, noticed, scope });
      for (const { path, before: state, inode } of before) {
        const now = states.get(path);
        if (!now || isSame(state, now)) continue;
        if (state.kind === "known" && inode !== undefined && inode !== inodeOf(now)) noticed.add(inode);
        if (!found.has(path)) found.set(path, { agent, before: state });
        if (one.settled.get(path) === settled.get(path)) one.settled.set(path, now);
      }
    }
    return found;
  }

  return {
    async start(agent, command, places, begun) {
      const scope = { directories: places.directories, except };
      const snapshot = snapshots.take({ agent, known: places.files, scope, begun });
      begin({ agent, command, scope, snapshot });
      return snapshot;
    },
    async end(agent, command) {
      const one = [...running].find(
        (other) => !other.hasEnded && other.agent.session === agent.session && other.command === command,
      );
      if (!one) return undefined;
      one.hasEnded = true;
      try {
        const { written, gaps } = await result(one);
        running.delete(one);
        const states = new Map(written.map(({ path, before }) => [path, before]));
        const others = await earlier(states, (await one.snapshot).since);
        // Leaves out files that an agent has edited since, because this edit is newer.
        for (const { path, after } of written) if (!one.seen.has(path)) settled(path, after);
        return { written: written.map((file) => ({ ...file, earlier: others.get(file.path) })), gaps };
      } finally {
        running.delete(one);
      }
    },
    ofAgent: ({ session }) =>
      [...running]
        .filter((one) => !one.hasEnded && one.agent.session === session)
        .map(({ command }) => command),
    get runner() {
      return [...running].at(-1)?.agent;
    },
    settled,
    earlier: (states) => earlier(states),
    noticed(before, path, now) {
      if (before.kind === "known") for (const { noticed } of running) noticed.add(inodeOf(before));
      settled(path, now);
    },
    editing(path, now) {
      for (const { hasEnded, seen, settled } of running)
        if (hasEnded && !seen.has(path)) seen.set(path, { now, settled: settled.get(path) });
    },
    forget: snapshots.forget,
  };
}

/**
 * Returns whether a file is a swap or undo file of Neovim or Vim. An editor writes, renames and removes these files at
 * any time. Lua does not report them: an undo file may contain the text of a file that is excluded from sharing.
 */
function isEditorFile(path: string, state: FileState): boolean {
  if (state.kind !== "known") return false;
  return (
    state.text.startsWith("Vim\x9fUnDo\xe5") || (/\.sw[a-p]$/.test(path) && state.text.startsWith("b0VIM "))
  );
}

function entryOf<T>(map: ReadonlyMap<string, T>, key: string): [string, T][] {
  const value = map.get(key);
  return value === undefined ? [] : [[key, value]];
}

/** Returns whether two states have the same content and mode. States of bytes from Git have no version of their own. */
function isSame(a: FileState, b: FileState): boolean {
  if (a.kind !== "known" || b.kind !== "known") return a.version === b.version;
  return a.text === b.text && a.metadata?.mode === b.metadata?.mode;
}
