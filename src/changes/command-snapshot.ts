/**
 * Takes a snapshot of files before an agent's shell command. No hook reports which files a command changes, so the
 * files are compared with the snapshot after the command.
 */
import { createYielder } from "../base/work-slices.ts";
import type { Agent, Begun } from "../contract/hooks.ts";
import {
  ABSENT,
  CLOCK_TICK_MS,
  type FileState,
  factsOf,
  MAX_FILE_BYTES,
  NOT_REGULAR,
  readState,
  realPath,
  TOO_LONG,
  unknown,
} from "../system/file-state.ts";
import { SLOW, type TreeSnapshot, takeTrees } from "./tree-snapshot.ts";
import { findOutside, listFiles, MAX_LISTED_FILES, NOT_UTF8, type Outside } from "./untracked-directories.ts";
import { type Candidate, candidatesAt, type Scope } from "./work-tree.ts";

/** Maximum total size of the files that are read before one command (bytes). */
const MAX_TEXT_BYTES = 32 * 1024 * 1024;

export const LATE = "the agent began before the file was read";
const FULL = "too many other files differ from Git, or are not in Git";
export const TOO_MANY = `more than ${MAX_LISTED_FILES} files are not in a Git work tree`;

export interface Snapshot {
  /** Start of the snapshot (Unix milliseconds). */
  readonly since: number;
  /**
   * File states by absolute path. Contains open and changed files, files that differ from Git's index, and files
   * outside Git work trees.
   */
  readonly files: Map<string, FileState>;
  readonly trees: readonly TreeSnapshot[];
  readonly outside: Outside;
  /** Reasons why changes may be missing, such as "Git's index cannot be read". */
  readonly gaps: readonly string[];
}

interface SnapshotOptions {
  readonly agent: Pick<Agent, "cwd">;
  readonly scope: Scope;
  /** Absolute paths of files that are always read, even if Git reports no difference. */
  readonly known: readonly string[];
  /** Aborted when the command begins. The command may change files from then on. */
  readonly begun: Begun;
}

interface Snapshots {
  take(options: SnapshotOptions): Promise<Snapshot>;
  /** Empties the cache of files that were read for the last snapshot. */
  forget(): void;
}

export function createSnapshots(): Snapshots {
  /** Files that were read for the last snapshot. The next snapshot takes unchanged files from this cache. */
  let remembered = new Map<string, FileState>();
  /** Ignored work trees that were named once. */
  const named = new Set<string>();

  /** Names each ignored work tree once, because most commands do not change it. */
  function nameOnce(paths: readonly string[]): string[] {
    const unnamed = paths.filter((path) => !named.has(path));
    for (const path of unnamed) named.add(path);
    return unnamed.map((path) => `files in ${path}, a Git worktree in an ignored folder, are not compared`);
  }

  async function read({ path, found }: Candidate, room: number, begun: Begun): Promise<FileState> {
    if (!found) return ABSENT;
    if (typeof found === "string") return unknown(NOT_REGULAR, found);
    const facts = factsOf(found);
    const unread = (reason: string): FileState => ({ ...unknown(reason), ...facts });
    if (!found.isFile()) return unread(NOT_REGULAR);
    if (found.size > MAX_FILE_BYTES) return unread(TOO_LONG);
    if (found.size > room) return unread(FULL);
    const known = remembered.get(path);
    if (known?.version === facts.version) return known;
    const seen = begun.aborted ? undefined : await readState(path);
    return seen && !begun.aborted ? seen : unread(LATE);
  }

  /**
   * Reads candidate files in the given order, and adds their states to `files`. Skips files that `files` already
   * contains.
   */
  async function readInto(
    files: Map<string, FileState>,
    candidates: readonly Candidate[],
    begun: Begun,
  ): Promise<void> {
    let room = MAX_TEXT_BYTES;
    for (const seen of files.values()) room -= lengthOf(seen);
    const yieldIfDue = createYielder();
    for (const candidate of candidates) {
      await yieldIfDue();
      if (files.has(candidate.path)) continue;
      const seen = await read(candidate, room, begun);
      room -= lengthOf(seen);
      files.set(candidate.path, seen);
    }
  }

  /**
   * Caches file states for the next snapshot. Leaves out files that were written a moment ago: a second write within
   * the same clock tick would not change the modification time.
   */
  function remember(files: ReadonlyMap<string, FileState>, readAt: number): void {
    const isSettled = ({ kind, since = readAt }: FileState) =>
      kind === "known" && since < readAt - CLOCK_TICK_MS;
    remembered = new Map([...files].filter(([, seen]) => isSettled(seen)));
  }

  return {
    async take({ agent, scope, known, begun }) {
      const start = Date.now();
      const since = start - CLOCK_TICK_MS;
      const files = new Map<string, FileState>();
      // Reads open and changed files before running Git. These files matter most, and Git may be slow.
      await readInto(files, await candidatesAt(await Promise.all(known.map(realPath))), begun);
      const { trees, differing, gaps, ignored } = await takeTrees(agent.cwd, scope, begun);
      const tops = trees.map(({ top }) => top);
      const outside = await findOutside(scope, tops);
      const others = await lookOutside(outside, begun);
      await readInto(files, bySize([...differing, ...others.found]), begun);
      remember(files, start);
      return {
        since,
        files,
        trees,
        outside,
        gaps: [...new Set([...gaps, ...others.gaps, ...nameOnce(ignored)])],
      };
    },
    forget: () => remembered.clear(),
  };
}

async function lookOutside(outside: Outside, begun: Begun): Promise<{ found: Candidate[]; gaps: string[] }> {
  const { paths, isComplete, hasUnnamed } = await listFiles(outside, () => begun.aborted);
  const found = await candidatesAt(paths, () => begun.aborted);
  const gaps = begun.aborted ? [SLOW] : isComplete ? [] : [TOO_MANY];
  return { found, gaps: hasUnnamed ? [...gaps, NOT_UTF8] : gaps };
}

function bySize(candidates: readonly Candidate[]): Candidate[] {
  return [...candidates].sort((a, b) => sizeOf(a) - sizeOf(b));
}

function sizeOf({ found }: Candidate): number {
  return typeof found === "object" ? found.size : 0;
}

/** Returns the length of a known text (characters); 0 for an unknown text. */
export function lengthOf(seen: FileState): number {
  return seen.kind === "known" ? seen.text.length : 0;
}
