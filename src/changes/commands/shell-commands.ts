/**
 * Finds the files that agents change with shell commands. Takes a snapshot before each command, and compares it with a
 * snapshot after the command.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Agent, Begun } from "../../contract/hooks.ts";
import type { Turn } from "../../contract/turns.ts";
import { CLOCK_TICK_MS, type FileState, type Metadata, realPath } from "../../system/file-state.ts";
import { isBelow } from "../../system/path-relations.ts";
import { type ChangedFile, changedFiles, isSameState } from "./compare-snapshots.ts";
import { createSnapshotRoots, type RootsOptions, type Taken } from "./snapshot-roots.ts";

const LATE = "a command began before its files were compared";
const FAILED = "Git could not compare the files after a command";
const CREATED = "a command created a Git repository";
const TOGETHER = "others have written the file while a command ran";

/** The files and directories that are open in Neovim, as absolute paths. */
export interface OpenPlaces {
  readonly files: readonly string[];
  readonly directories: readonly string[];
}

/** A file that a command has changed. */
export interface Written extends ChangedFile {
  /** Set if the user or another agent has written the file, too: the reason why it is undone only as a whole. */
  readonly together?: string | undefined;
  /** Whether the file had undecided changes when the command began. */
  readonly wasListed: boolean;
}

export interface CommandPlaces {
  /** Directories that are open in Neovim. */
  readonly directories: readonly string[];
  /** Versions of the files that are known to have changed, by path. */
  readonly versions: ReadonlyMap<string, string>;
}

export interface CommandResult {
  /** Yields the changed files. The command counts as running until all of them are read. */
  readonly written: AsyncIterable<Written>;
  /** Reasons why changes may be missing. Filled while `written` is read. */
  readonly gaps: ReadonlySet<string>;
  /** See {@link CommandPlaces}. */
  readonly versions: ReadonlyMap<string, string>;
}

/** A write by the user or by a tool that edits one file. */
export interface OtherWrite {
  /** State of the file just before, if it is known. */
  readonly from?: FileState | undefined;
  /** State of the file after the write; undefined if the write has not ended. */
  readonly to?: FileState | undefined;
  readonly isUser: boolean;
}

export interface ShellCommands {
  /** Takes a snapshot in the background, so that the first command need not wait. */
  prepare(directories: readonly string[]): void;
  /**
   * Takes the snapshot before a command. Waits only for a limited time.
   * @param begun aborted when the command begins
   */
  begin(agent: Turn, command: string, places: CommandPlaces, begun: Begun): Promise<void>;
  /** Ends a command. @returns undefined if no hook has reported its start */
  end(agent: Agent, command: string): CommandResult | undefined;
  /** Resolves when the files of ended commands are compared, or after a limited time. */
  compared(): Promise<void>;
  /** Agent of the running command that started last; undefined if no command is running. */
  readonly runner: Turn | undefined;
  /** Records that others than a command have written a file, or that Neovim has read it. */
  noticed(path: string, write: OtherWrite): void;
  /** Returns the paths of the files with a name in these directories, except ignored files. */
  filesNamed(name: string, directories: readonly string[]): Promise<string[]>;
  /** Resolves when Git no longer runs. Idempotent. */
  close(): Promise<void>;
}

interface Command {
  readonly agent: Turn;
  readonly command: string;
  readonly versions: ReadonlyMap<string, string>;
  /** Real paths of the compared directories. */
  scope: readonly string[];
  /** Time when the command began (Unix milliseconds). */
  since: number;
  /** Undefined if the snapshot was not complete when the command began. */
  taken?: Taken;
  readonly others: Map<string, OtherWrite>;
  /** Earlier metadata of the files that later snapshots have stored again; undefined for the usual metadata. */
  readonly metadata: Map<string, Metadata | undefined>;
  hasEnded: boolean;
  /** Resolves a promise for which the next tool waits. */
  compared(): void;
}

export interface ShellCommandsOptions extends Omit<RootsOptions, "replaced"> {
  /** Maximum time for which a tool waits for a snapshot (milliseconds). */
  readonly maxWait: number;
}

export function createShellCommands({ maxWait, ...options }: ShellCommandsOptions): ShellCommands {
  const waitAtMost = () => delay(maxWait, undefined, { ref: false });
  const running = new Set<Command>();
  const roots = createSnapshotRoots({ ...options, replaced: keepMetadata });
  /** Reasons that were reported once. Most of them are true for every command. */
  const reported = new Set<string>();
  let comparing: Promise<unknown> = Promise.resolve();

  /** Keeps the metadata from before the running commands when a later snapshot stores a file again. */
  function keepMetadata(path: string, earlier: Metadata | undefined): void {
    for (const { taken, metadata } of running) if (taken && !metadata.has(path)) metadata.set(path, earlier);
  }

  async function take(one: Command, directories: readonly string[]): Promise<Taken> {
    one.scope = [...new Set(await Promise.all(directories.map(realPath)))];
    return roots.take(one.scope);
  }

  /** @param taking the snapshot after the command */
  async function* compare(one: Command, gaps: Set<string>, taking: Promise<Taken>): AsyncGenerator<Written> {
    try {
      const { taken } = one;
      if (!taken) return void gaps.add(LATE);
      const now = await taking;
      reportGaps(taken, now, gaps);
      for await (const file of changedInRoots(one, taken, now)) {
        const written = isEditorFile(file) ? undefined : withOthers(file, one.others.get(file.path));
        if (!written) continue;
        tellOthers(one, file);
        yield { ...written, wasListed: one.versions.has(file.path) };
      }
    } catch {
      gaps.add(FAILED);
    } finally {
      running.delete(one);
      one.compared();
    }
  }

  /** Tells the other running commands what a command has written. */
  function tellOthers(one: Command, { path, before, after }: ChangedFile): void {
    for (const other of running) {
      const from = other.since <= one.since ? before : undefined;
      if (other !== one) note(other, path, { from, to: after, isUser: false });
    }
  }

  /** Adds the reasons why changes may be missing. Most of them are true for every command, and reported once. */
  function reportGaps(before: Taken, after: Taken, gaps: Set<string>): void {
    for (const gap of [...before.gaps, ...after.gaps]) {
      if (!reported.has(gap)) gaps.add(gap);
      reported.add(gap);
    }
    const nested = ({ snapshots }: Taken) => [...snapshots.values()].flatMap((snapshot) => snapshot.nested);
    const known = new Set(nested(before));
    if (nested(after).some((path) => !known.has(path))) gaps.add(CREATED);
  }

  function note(one: Command, path: string, { from, to, isUser }: OtherWrite): void {
    const earlier = one.others.get(path);
    one.others.set(path, {
      from: earlier ? earlier.from : from,
      to: to ?? earlier?.to,
      isUser: to ? isUser : (earlier?.isUser ?? isUser),
    });
  }

  return {
    prepare(directories) {
      roots.forget();
      void Promise.all(directories.map(realPath)).then((scope) => roots.take([...new Set(scope)]));
    },
    async begin(agent, command, { directories, versions }, begun) {
      const one: Command = {
        agent,
        command,
        versions,
        scope: [],
        since: Date.now(),
        others: new Map(),
        metadata: new Map(),
        hasEnded: false,
        compared: () => {},
      };
      running.add(one);
      let isLate = false;
      const taking = take(one, [agent.cwd, ...directories]).then((taken) => {
        if (isLate || begun.aborted || one.hasEnded) return;
        Object.assign(one, { taken, since: Date.now() - CLOCK_TICK_MS });
      });
      await Promise.race([taking, waitAtMost()]);
      isLate = true;
    },
    end(agent, command) {
      const one = [...running].find(
        (other) => !other.hasEnded && other.agent.session === agent.session && other.command === command,
      );
      if (!one) return undefined;
      one.hasEnded = true;
      const compared = new Promise<void>((resolve) => Object.assign(one, { compared: resolve }));
      comparing = Promise.all([comparing, compared]);
      const gaps = new Set<string>();
      const taking = roots.take(one.scope, one.taken);
      return { written: compare(one, gaps, taking), gaps, versions: one.versions };
    },
    compared: () => Promise.race([comparing, waitAtMost()]).then(() => {}),
    get runner() {
      return [...running].at(-1)?.agent;
    },
    noticed(path, write) {
      for (const one of running) note(one, path, write);
    },
    filesNamed: roots.filesNamed,
    close: roots.close,
  };
}

/** Yields the changed files of all directories. */
async function* changedInRoots(one: Command, before: Taken, after: Taken): AsyncGenerator<ChangedFile> {
  const { scope, since, metadata } = one;
  const tops = [...before.snapshots.keys()].map(({ top }) => top);
  for (const [repository, snapshot] of before.snapshots) {
    const now = after.snapshots.get(repository);
    if (!now) continue;
    const metadataOf = (path: string, mode: string) =>
      metadata.has(path)
        ? (metadata.get(path) ?? repository.usualMetadata(mode))
        : repository.metadataOf(path, mode);
    const inner = tops.filter((top) => top !== repository.top && isBelow(top, repository.top));
    const compared = { repository, before: snapshot, after: now, since, scope, metadataOf };
    for await (const file of changedFiles(compared))
      if (!inner.some((top) => isBelow(file.path, top))) yield file;
  }
}

/**
 * Takes the writes of others into account. What the user has saved, undone or accepted is never counted as the
 * command's. If the command has written the file before others, nobody knows which text is whose.
 * @returns undefined if only others have written the file
 */
function withOthers(
  file: ChangedFile,
  other: OtherWrite | undefined,
): (ChangedFile & Pick<Written, "together">) | undefined {
  if (!other?.to) return !other || other.isUser ? file : { ...file, together: TOGETHER };
  if (other.from && !isSameState(other.from, file.before)) return { ...file, together: TOGETHER };
  if (isSameState(other.to, file.after)) return undefined;
  return other.isUser ? { ...file, before: other.to } : file;
}

/**
 * Returns whether a file is a swap or undo file of Neovim or Vim. An editor writes, renames and removes these files at
 * any time. Lua does not report them: an undo file may contain the text of a file that is excluded from sharing.
 */
function isEditorFile({ path, before, after }: ChangedFile): boolean {
  return [before, after].some(
    (state) =>
      state.kind === "known" &&
      (state.text.startsWith("Vim\x9fUnDo\xe5") ||
        (/\.sw[a-p]$/.test(path) && state.text.startsWith("b0VIM "))),
  );
}
