/**
 * Finds changes that the user has staged or committed. In both cases, Git's index refers to a new object for the file.
 * Parses the index and hashes the files without Git, because Git would run filters that the repository configures.
 */
import { dirname } from "node:path";
import { createYielder } from "../base/work-slices.ts";
import { disk } from "../system/disk.ts";
import { readState } from "../system/file-state.ts";
import type { ChangedFiles } from "./changed-files.ts";
import { type FileChange, fileStateOf, kept } from "./file-change.ts";
import type { GitIndex } from "./git-index.ts";
import type { History } from "./history.ts";
import { findWorkTree, hasGit, nameIn, objectName, readIndex, type WorkTree } from "./work-tree.ts";

/** Timeout of Git. Events of hooks wait meanwhile. */
const GIT_TIMEOUT_MS = 2_000;

/** Delay between an agent's write and reading Git's index, so that many writes in a row cause only one read. */
const RECORD_DELAY_MS = 100;

/** Stands for the object name of a file that is not in the index. */
const NONE = "";
/** Stands for the object name of a file with a merge conflict. Such a file has several objects. */
const SEVERAL = "several";

interface Staging {
  /** Called when an agent has written the file. */
  wrote(path: string): void;
  /**
   * Called when a command of an agent has ended. Files that the command has staged stay unreviewed, because only the
   * user decides.
   */
  commandEnded(): void;
  /** Keeps changes that the user has staged. Must run inside `enqueue`. */
  keep(): Promise<void>;
  /** Stops the timer. Idempotent. */
  close(): void;
}

interface StagingOptions {
  files: ChangedFiles;
  history: Pick<History, "kept">;
  /** Runs functions one after the other. */
  enqueue(run: () => Promise<void>): Promise<void>;
  areCommandsRunning(): boolean;
}

export function createStaging({ files, history, enqueue, areCommandsRunning }: StagingOptions): Staging {
  /** For each index: the object names of its files, by file name. */
  const names = new WeakMap<GitIndex, Map<string, string>>();
  /** Files whose object names in the index are not recorded yet. */
  const due = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  function namesOf(index: GitIndex): Map<string, string> {
    const known = names.get(index);
    if (known) return known;
    const objects = new Map<string, string>();
    for (const { name, object } of index.entries) objects.set(name, objects.has(name) ? SEVERAL : object);
    names.set(index, objects);
    return objects;
  }

  /**
   * Creates a function that looks up the object name of a file in Git's index. The function returns undefined if the
   * file is outside work trees, or if the index cannot be read.
   */
  function createLookup(): (path: string) => Promise<string | undefined> {
    const tops = new Map<string, string | undefined>();
    const trees = new Map<string, Promise<{ tree: WorkTree; index: GitIndex } | undefined>>();

    const topOf = (directory: string): string | undefined => {
      if (tops.has(directory)) return tops.get(directory);
      const parent = dirname(directory);
      const top = hasGit(directory) ? directory : parent === directory ? undefined : topOf(parent);
      tops.set(directory, top);
      return top;
    };
    const open = async (top: string) => {
      const tree = await findWorkTree(top, GIT_TIMEOUT_MS);
      const index = tree && (await readIndex(tree));
      return tree && index && { tree, index };
    };
    return async (path) => {
      if (disk.moment().isOnNetwork(path)) return undefined;
      const top = topOf(dirname(path));
      if (top === undefined) return undefined;
      const opened = trees.get(top) ?? open(top);
      trees.set(top, opened);
      const found = await opened;
      if (!found) return undefined;
      return namesOf(found.index).get(nameIn(found.tree.top, path)) ?? NONE;
    };
  }

  async function record(): Promise<void> {
    timer = undefined;
    const changes = [...due].flatMap((path) => files.get(path) ?? []);
    due.clear();
    const lookup = createLookup();
    const yieldIfDue = createYielder();
    for (const { path } of changes) {
      await yieldIfDue();
      const staged = await lookup(path);
      const change = files.get(path);
      if (change && change.staged !== staged) files.set({ ...change, staged });
    }
  }

  function recordLater(): void {
    timer ??= setTimeout(() => void enqueue(record), RECORD_DELAY_MS).unref();
  }

  return {
    wrote(path) {
      if (files.get(path)?.staged !== undefined) return;
      due.add(path);
      recordLater();
    },
    commandEnded() {
      for (const { path } of files.all()) due.add(path);
      recordLater();
    },
    async keep() {
      if (areCommandsRunning()) return;
      const lookup = createLookup();
      const yieldIfDue = createYielder();
      for (const change of files.all()) {
        await yieldIfDue();
        if (change.staged === undefined || due.has(change.path)) continue;
        const now = await lookup(change.path);
        if (now === undefined || now === change.staged || !(await isCurrent(change, now))) continue;
        history.kept(change.path);
        files.set(kept(change), { decision: "kept" });
      }
    },
    close: () => clearTimeout(timer),
  };
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
