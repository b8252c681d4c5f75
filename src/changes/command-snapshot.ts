/**
 * Reads the files that a shell command may change, before the command runs, because no hook reports its
 * changes.
 */
import { createYielder } from "../base/work-slices.ts";
import type { Agent } from "../contract/hooks.ts";
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
import type { GitIndex, IndexEntry } from "./git-index.ts";
import { findOutside, listFiles, MAX_LISTED_FILES, type Outside } from "./untracked-directories.ts";
import {
  areReal,
  createFilter,
  type Found,
  findWorkTree,
  lookAt,
  pathIn,
  type Scope,
  untrackedFiles,
  type WorkTree,
} from "./work-tree.ts";

/** Timeout of each Git process. */
const GIT_TIMEOUT_MS = 5_000;

/** Maximum size of all files that are read before a command (bytes). */
const MAX_TEXT_BYTES = 32 * 1024 * 1024;

export const LATE = "the command began before its bytes were read";
const FULL = "too many other files differ from Git, or are not in Git";
const SLOW = "a command began before all files were checked";
const INDEX_CHANGED = "the bridge was restarted while a command changed Git's index";
const NOT_STORED = "the bridge was restarted before the files from before a command were stored";
export const TOO_MANY = `more than ${MAX_LISTED_FILES} files are not in a Git work tree`;

export interface Snapshot {
  /** Start of the snapshot (Unix milliseconds). */
  readonly since: number;
  /** By absolute path: open and listed files, and files that differ from the index. */
  readonly files: Map<string, FileState>;
  readonly tree?: TreeSnapshot | undefined;
  readonly outside: Outside;
  /** Reasons why changes may be missing, each the end of a sentence. */
  readonly gaps: readonly string[];
}

export interface TreeSnapshot extends WorkTree {
  readonly index: GitIndex;
  /** Entries of the index in the open directories. */
  readonly entries: readonly IndexEntry[];
  /** Number of checked entries. A checked entry that is not in `files` matched the index. */
  readonly looked: number;
  /** Permission bits of each entry. The index stores only the executable bit. */
  readonly modes: Uint16Array;
}

export interface SnapshotOptions {
  readonly agent: Pick<Agent, "cwd">;
  readonly scope: Scope;
  /** Absolute paths of files that are always read. */
  readonly known: readonly string[];
  /** Aborted when the command begins. */
  readonly begun: AbortSignal;
}

export interface Snapshots {
  take(options: SnapshotOptions): Promise<Snapshot>;
  /** Drops the files that were cached for the next snapshot. */
  forget(): void;
}

/** A file to be read. */
interface Candidate {
  readonly path: string;
  readonly found: Found;
}

/** @param readIndex returns undefined for an index that cannot be read */
export function createSnapshots(readIndex: (tree: WorkTree) => Promise<GitIndex | undefined>): Snapshots {
  /** Files read for the last snapshot. An unchanged file is not read again. */
  let remembered = new Map<string, FileState>();

  async function read({ path, found }: Candidate, room: number, begun: AbortSignal): Promise<FileState> {
    if (!found) return ABSENT;
    if (typeof found === "string") return unknown(NOT_REGULAR, found);
    const facts = factsOf(found);
    const without = (reason: string): FileState => ({ ...unknown(reason), ...facts });
    if (!found.isFile()) return without(NOT_REGULAR);
    if (found.size > MAX_FILE_BYTES) return without(TOO_LONG);
    if (found.size > room) return without(FULL);
    const known = remembered.get(path);
    if (known?.version === facts.version) return known;
    const seen = begun.aborted ? undefined : await readState(path);
    return seen && !begun.aborted ? seen : without(LATE);
  }

  /** @param candidates in order of importance */
  async function readAll(
    candidates: readonly Candidate[],
    begun: AbortSignal,
  ): Promise<Map<string, FileState>> {
    const files = new Map<string, FileState>();
    let room = MAX_TEXT_BYTES;
    const readAt = Date.now();
    const yieldIfDue = createYielder();
    for (const candidate of candidates) {
      await yieldIfDue();
      if (files.has(candidate.path)) continue;
      const seen = await read(candidate, room, begun);
      if (seen.kind === "known") room -= seen.text.length;
      files.set(candidate.path, seen);
    }
    // A file that was written just before may be written again within the same clock tick.
    const isSettled = ({ kind, since = readAt }: FileState) =>
      kind === "known" && since < readAt - CLOCK_TICK_MS;
    remembered = new Map([...files].filter(([, seen]) => isSettled(seen)));
    return files;
  }

  async function lookAtTree(tree: WorkTree, { scope, begun }: SnapshotOptions) {
    const [isOpen, index, untracked] = await Promise.all([
      createFilter(scope, tree.top),
      readIndex(tree),
      untrackedFiles(tree, GIT_TIMEOUT_MS),
    ]);
    if (!index) return { tree: undefined, differing: [], gaps: ["Git's index cannot be read"] };
    const entries = openEntries(index, isOpen);
    const modes = new Uint16Array(entries.length);
    const others = (untracked ?? []).filter(isOpen);
    const differing: Candidate[] = [];
    const isOver = () => begun.aborted;
    let looked = 0;
    await lookAt(
      entries,
      ({ name }) => pathIn(tree, name),
      (entry, found) => {
        const stats = typeof found === "object" ? found : undefined;
        modes[looked++] = stats ? stats.mode & 0o7777 : entry.mode;
        if (!stats || !entry.isSame(stats)) differing.push({ path: pathIn(tree, entry.name), found });
      },
      isOver,
    );
    let lookedAtOthers = 0;
    await lookAt(
      others,
      (name) => pathIn(tree, name),
      (name, found) => {
        lookedAtOthers += 1;
        differing.push({ path: pathIn(tree, name), found });
      },
      isOver,
    );
    const isWhole = looked === entries.length && lookedAtOthers === others.length;
    return {
      tree: { ...tree, index, entries, looked, modes },
      differing: await unlinked(differing),
      gaps: [
        ...(untracked ? [] : ["Git did not say which files it does not track"]),
        ...(isWhole ? [] : [SLOW]),
      ],
    };
  }

  return {
    async take(options) {
      const since = Date.now() - CLOCK_TICK_MS;
      const known: Candidate[] = [];
      const paths = await Promise.all(options.known.map(realPath));
      await lookAt(
        paths,
        (path) => path,
        (path, found) => void known.push({ path, found }),
      );
      const top = await findWorkTree(options.agent.cwd, GIT_TIMEOUT_MS);
      const outside = await findOutside(options.scope, top?.top);
      const { differing = [], gaps = [], tree } = top ? await lookAtTree(top, options) : {};
      const others = await lookOutside(outside, options.begun);
      const candidates = [...known, ...bySize([...differing, ...others.found])];
      const files = await readAll(candidates, options.begun);
      return { since, files, tree, outside, gaps: [...new Set([...gaps, ...others.gaps])] };
    },
    forget: () => remembered.clear(),
  };
}

/** Leaves out paths below a symbolic link, because they do not belong to the work tree. */
async function unlinked(candidates: readonly Candidate[]): Promise<Candidate[]> {
  const real = await areReal(candidates.map(({ path }) => path));
  return candidates.map((one, i) => (real[i] ? one : { ...one, found: "ELOOP" }));
}

function openEntries(index: GitIndex, isOpen: (name: string) => boolean): IndexEntry[] {
  return index.entries.filter(({ name, isRepository }) => !isRepository && isOpen(name));
}

/** A snapshot as it is stored for the next host, without its files. */
export interface StoredSnapshot extends Pick<Snapshot, "since" | "outside" | "gaps"> {
  /** Without the entries, which are read again from Git's index if it still has this version. */
  readonly tree?: (WorkTree & { indexVersion: string; looked: number; modes: string }) | undefined;
}

/** @param snapshot undefined if it was not stored completely */
export async function restoreSnapshot(
  snapshot: StoredSnapshot | undefined,
  files: Map<string, FileState>,
  scope: Scope,
  readIndex: (tree: WorkTree) => Promise<GitIndex | undefined>,
): Promise<Snapshot> {
  const nowhere = { directories: [], except: [] };
  if (!snapshot) return { since: Date.now(), files: new Map(), outside: nowhere, gaps: [NOT_STORED] };
  const { since, outside, gaps, tree: saved } = snapshot;
  if (!saved) return { since, files, outside, gaps };
  const index = await readIndex(saved);
  const entries = index && openEntries(index, await createFilter(scope, saved.top));
  const modes = new Uint16Array(new Uint8Array(Buffer.from(saved.modes, "base64")).buffer);
  if (index?.version !== saved.indexVersion || entries?.length !== modes.length)
    return { since, files, outside, gaps: [...gaps, INDEX_CHANGED] };
  return { since, files, outside, gaps, tree: { ...saved, index, entries, modes } };
}

async function lookOutside(
  outside: Outside,
  begun: AbortSignal,
): Promise<{ found: Candidate[]; gaps: string[] }> {
  const { paths, isComplete } = await listFiles(outside, () => begun.aborted);
  const all: Candidate[] = [];
  await lookAt(
    paths,
    (path) => path,
    (path, found) => void all.push({ path, found }),
    () => begun.aborted,
  );
  const gaps = begun.aborted ? [SLOW] : isComplete ? [] : [TOO_MANY];
  return { found: all, gaps };
}

function bySize(candidates: readonly Candidate[]): Candidate[] {
  return [...candidates].sort((a, b) => sizeOf(a) - sizeOf(b));
}

function sizeOf({ found }: Candidate): number {
  return typeof found === "object" ? found.size : 0;
}
