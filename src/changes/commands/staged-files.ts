/**
 * Finds changes that the user has staged or committed, which counts as keep. In both cases, Git's index refers to a new
 * object for the file. Git only lists the index, and the files are hashed here: Git would run filters that the
 * repository configures.
 */
import { dirname } from "node:path";
import { createYielder } from "../../base/work-slices.ts";
import { readState, versionAt } from "../../system/file-state.ts";
import { nameIn } from "../../system/path-relations.ts";
import type { ChangedFiles } from "../changed-files.ts";
import { type FileChange, fileStateOf, kept } from "../file-change.ts";
import { findRoot, isWorkTree } from "./find-root.ts";
import { objectName } from "./git-objects.ts";
import { splitParts, streamGit } from "./run-git.ts";

/** Timeout of Git. Events of hooks wait meanwhile. */
const GIT_TIMEOUT_MS = 2_000;

/** Delay between an agent's write and reading Git's index, so that many writes in a row cause only one read. */
const RECORD_DELAY_MS = 100;

/** Stands for the object name of a file that is not in the index. */
const NONE = "";

interface StagedFiles {
  /** Called when an agent has written the file. */
  wrote(path: string): void;
  /**
   * Called when a command of an agent has ended. Files that the command has staged stay undecided, because only the
   * user decides.
   */
  commandEnded(): void;
  /** Keeps changes that the user has staged. Must run inside `enqueue`. */
  keep(): Promise<void>;
  /** Stops the timer. Idempotent. */
  close(): void;
}

interface StagedFilesOptions {
  files: ChangedFiles;
  /** Runs functions one after the other. */
  enqueue(run: () => Promise<void>): Promise<void>;
  areCommandsRunning(): boolean;
}

export function createStagedFiles(options: StagedFilesOptions): StagedFiles {
  const { files, enqueue, areCommandsRunning } = options;
  /** Files whose object names in the index are not recorded yet. */
  const due = new Set<string>();
  /** Version of each index when it was compared last. */
  const versions = new Map<string, string>();
  let timer: NodeJS.Timeout | undefined;

  async function record(): Promise<void> {
    timer = undefined;
    const paths = [...due].filter((path) => files.outline(path));
    due.clear();
    const yieldIfDue = createYielder();
    for (const [path, staged] of await stagedObjects(paths)) {
      await yieldIfDue();
      const change = files.outline(path)?.staged === staged ? undefined : files.get(path);
      if (change) files.set({ ...change, staged });
    }
  }

  function recordLater(): void {
    timer ??= setTimeout(() => void enqueue(record), RECORD_DELAY_MS).unref();
  }

  return {
    wrote(path) {
      if (files.outline(path)?.staged !== undefined) return;
      due.add(path);
      recordLater();
    },
    commandEnded() {
      for (const { path } of files.all()) due.add(path);
      recordLater();
    },
    async keep() {
      if (areCommandsRunning()) return;
      const recorded = files.all().filter(({ path, staged }) => staged !== undefined && !due.has(path));
      const objects = await stagedObjects(
        recorded.map(({ path }) => path),
        versions,
      );
      for (const { path, staged } of recorded) {
        const now = objects.get(path);
        const change = now === undefined || now === staged ? undefined : files.get(path);
        if (now === undefined || !change || !(await isCurrent(change, now))) continue;
        files.set(kept(change), { decision: "kept" });
      }
    },
    close: () => clearTimeout(timer),
  };
}

/**
 * Looks up the object names of files in Git's indexes. Leaves out files outside work trees.
 * @param known version of each index that need not be read again. Gets the versions of the indexes that are read
 */
async function stagedObjects(
  paths: readonly string[],
  known = new Map<string, string>(),
): Promise<Map<string, string>> {
  const objects = new Map<string, string>();
  const tops = new Map<string, Promise<string | undefined>>();
  const topOf = (directory: string): Promise<string | undefined> => {
    const parent = dirname(directory);
    const top =
      tops.get(directory) ??
      isWorkTree(directory).then((is) => (is ? directory : parent === directory ? undefined : topOf(parent)));
    tops.set(directory, top);
    return top;
  };
  const byTop = new Map<string, Map<string, string>>();
  for (const path of paths) {
    const top = await topOf(dirname(path));
    const names = top === undefined ? undefined : (byTop.get(top) ?? new Map<string, string>());
    if (top !== undefined && names) byTop.set(top, names.set(nameIn(top, path), path));
  }
  for (const [top, names] of byTop) {
    const found = await readIndex(top, names, known).catch(() => undefined);
    if (found) for (const [name, path] of names) objects.set(path, found.get(name) ?? NONE);
  }
  return objects;
}

/** @returns undefined if the index need not be read, or if the directory is not the top of a work tree */
async function readIndex(
  top: string,
  names: ReadonlyMap<string, string>,
  known: Map<string, string>,
): Promise<Map<string, string> | undefined> {
  const { top: real, repository } = await findRoot(top);
  if (real !== top || !repository) return undefined;
  const version = await versionAt(repository.index);
  if (known.get(repository.index) === version) return undefined;
  const objects = await listObjects(top, names);
  known.set(repository.index, version);
  return objects;
}

/** Lists the objects of files in the index of a work tree. A file with a merge conflict gets no object of the file. */
async function listObjects(top: string, names: ReadonlyMap<string, string>): Promise<Map<string, string>> {
  const objects = new Map<string, string>();
  const yieldIfDue = createYielder();
  const listed = streamGit({ cwd: top, args: ["ls-files", "-z", "--stage"], timeout: GIT_TIMEOUT_MS });
  for await (const entries of splitParts(listed)) {
    await yieldIfDue();
    for (const entry of entries) {
      const name = entry.slice(entry.indexOf("\t") + 1);
      const [, object = "", stage] = entry.split(/[ \t]/, 3);
      if (names.has(name)) objects.set(name, stage === "0" ? object : "several");
    }
  }
  return objects;
}

/** Returns whether a Git object has the same content as the file on disk. Line endings may differ. */
async function isCurrent(change: FileChange, object: string): Promise<boolean> {
  const known = fileStateOf(change);
  const now = known.kind === "unknown" ? await readState(change.path) : known;
  if (now.kind === "absent") return object === NONE;
  if (now.kind === "unknown") return false;
  const isObject = (text: string) => objectName(Buffer.from(text, "latin1"), object.length) === object;
  return isObject(now.text) || (now.text.includes("\r\n") && isObject(now.text.replaceAll("\r\n", "\n")));
}
