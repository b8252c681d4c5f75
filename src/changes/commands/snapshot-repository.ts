/**
 * Stores snapshots of a directory in a private bare Git repository. Writes nothing into the directory, and runs no
 * program that the directory names: neither its attributes nor the settings of the user's repository apply.
 */
import { existsSync, rmSync, type Stats, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Metadata } from "../../system/file-state.ts";
import { pathIn } from "../../system/path-relations.ts";
import { createSnapshotStore, isComplete, markIncomplete } from "./create-snapshot-store.ts";
import { deleteUnused } from "./delete-unused.ts";
import { isCaseIgnored, type Root } from "./find-root.ts";
import { type NamedDifference, parseDifferences, readObjects } from "./git-objects.ts";
import { listNames, UNREADABLE } from "./list-names.ts";
import { GitFailure, type Input, streamGit, textOf } from "./run-git.ts";
import { createSnapshotMetadata } from "./snapshot-metadata.ts";

/** Number of files from which Git writes one pack instead of a file for each object. */
const PACKED_FROM = 200;

/** Maximum size of the store of a directory (bytes). A larger store is deleted and created again. */
const MAX_STORE_BYTES = 1024 * 1024 * 1024;

/** Number of times that a snapshot is repeated without a file that Git cannot read. */
const MAX_TRIES = 4;

export interface Snapshot {
  /** Name of the Git tree with all files. */
  readonly tree: string;
  /** Absolute paths of repositories inside the directory. The snapshot does not contain their files. */
  readonly nested: readonly string[];
  /** Reasons why the snapshot is incomplete. */
  readonly gaps: readonly string[];
}

/** A path that differs between two snapshots. */
export interface Difference extends Omit<NamedDifference, "name"> {
  readonly path: string;
}

export interface SnapshotRepository {
  readonly top: string;
  /** Takes a snapshot of the directories in `scope` (absolute paths). @throws {GitFailure} */
  take(scope: readonly string[]): Promise<Snapshot>;
  /** Yields the paths that differ. @throws {GitFailure} */
  compare(before: Snapshot, after: Snapshot): AsyncGenerator<Difference>;
  /** Yields the bytes of each object; undefined if they are missing or damaged. @throws {GitFailure} */
  read(objects: readonly string[]): AsyncGenerator<Buffer | undefined>;
  /** Returns the paths of all files with a name, except ignored files. @throws {GitFailure} */
  filesNamed(name: string): Promise<string[]>;
  /** Returns the metadata of a file in the last snapshot. @param mode Git's mode of the file */
  metadataOf(path: string, mode: string): Metadata | undefined;
  /** Returns the metadata that most files have. */
  usualMetadata(mode: string): Metadata | undefined;
  /** Ends Git, and deletes the index of this process. Idempotent. */
  close(): Promise<void>;
}

export interface RepositoryOptions {
  readonly root: Root;
  /** Directory of the store. Only the user may read it. */
  readonly directory: string;
  /** Id of this Neovim process. Each process has an own index. */
  readonly instance: string;
  /** Directory of the plugin's own files. These files are left out. */
  readonly except: string;
  /** Returns whether the text of a file may be stored. */
  mayKeep(path: string): boolean;
  /** Called when the metadata of a file is stored again. @param earlier undefined for the usual metadata */
  replaced(path: string, earlier: Metadata | undefined): void;
}

export function createSnapshotRepository(options: RepositoryOptions): SnapshotRepository {
  const { root, directory, except, mayKeep } = options;
  const { top, repository } = root;
  const indexFile = join(directory, `index-${options.instance}`);
  const environment = {
    GIT_DIR: directory,
    GIT_WORK_TREE: top,
    GIT_INDEX_FILE: indexFile,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
  };
  /** Lets Git use the objects of the user's repository, which saves space. Trees are always stored here. */
  const shared = repository && { GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(repository.objects) };
  const metadata = createSnapshotMetadata();
  /** Names of files that are never stored, with the reasons. */
  const left = new Map<string, string>();
  let isIgnoringCase = false;
  /** Tree of the last snapshot. */
  let last: string | undefined;
  const ending = new AbortController();
  const { signal } = ending;
  let ready: Promise<void> | undefined;
  let chain: Promise<unknown> = Promise.resolve();

  const git = (args: readonly string[], input?: Input, env = {}) =>
    streamGit({
      cwd: top,
      args,
      env: { ...environment, ...env },
      signal,
      ...(input && { input }),
    });

  async function prepare(): Promise<void> {
    forgetIndex();
    deleteUnused(directory, /^index-/); // of hosts that were killed
    isIgnoringCase = await isCaseIgnored(root);
    if (existsSync(directory) && (await sizeOfStore()) > MAX_STORE_BYTES)
      rmSync(directory, { recursive: true });
    if (!isComplete(directory)) await createSnapshotStore({ directory, root, isIgnoringCase, signal });
    writeFileSync(join(directory, "info/exclude"), root.rules, "latin1");
  }

  /** Returns the size of all objects (bytes). */
  async function sizeOfStore(): Promise<number> {
    const output = await textOf(git(["count-objects", "-v"])).catch(() => "");
    const sizes = [...output.matchAll(/^size(?:-pack|-garbage)?: (\d+)$/gm)].map(([, size]) => Number(size));
    return sizes.reduce((sum, size) => sum + size, 0) * 1024;
  }

  function forgetIndex(): void {
    last = undefined;
    metadata.forget();
    for (const path of [indexFile, `${indexFile}.lock`]) rmSync(path, { force: true });
  }

  /** Runs functions one after the other, because they share the index. */
  function exclusive<T>(run: () => Promise<T>): Promise<T> {
    const done = chain.then(async () => {
      if (signal.aborted) throw new GitFailure("the bridge ends");
      ready ??= prepare();
      await ready;
      return run();
    });
    chain = done.catch(startAgain);
    return done;
  }

  /** Lets the next snapshot start with an empty store, because the store may be damaged or deleted. */
  function startAgain(): void {
    if (signal.aborted) return;
    ready = undefined;
    markIncomplete(directory);
  }

  async function takeOnce(scope: readonly string[]): Promise<Snapshot> {
    if (!existsSync(indexFile)) forgetIndex(); // deleted, because it was not used for long
    const remember = (path: string, stats: Stats) => options.replaced(path, metadata.remember(path, stats));
    const listing = { root, scope, isIgnoringCase, except, left, mayKeep, git, remember };
    const found = listNames({ ...listing, isFirst: last === undefined });
    await update(found.names);
    const { removed } = found;
    if (removed.length > 0)
      await textOf(git(["update-index", "-z", "--force-remove", "--stdin"], [`${removed.join("\0")}\0`]));
    for (const gap of left.values()) found.gaps.add(gap);
    if (last === undefined || found.count + removed.length > 0)
      last = (await textOf(git(["write-tree", "--missing-ok"]))).trim();
    return { tree: last, nested: [...new Set(found.nested)], gaps: [...found.gaps] };
  }

  async function take(scope: readonly string[]): Promise<Snapshot> {
    utimesSync(directory, Date.now() / 1_000, Date.now() / 1_000);
    for (let tries = 1; ; tries += 1) {
      try {
        return await takeOnce(scope);
      } catch (error) {
        rmSync(`${indexFile}.lock`, { force: true });
        const [, name] =
          (error instanceof GitFailure && /Unable to process path (.*)$/m.exec(error.text)) || [];
        if (name === undefined || tries === MAX_TRIES) throw error;
        left.set(name, UNREADABLE);
      }
    }
  }

  /** Stores files in the index. Starts Git only if there are names. */
  async function update(names: AsyncGenerator<string>): Promise<void> {
    const first: string[] = [];
    let count = 0;
    for (let next = await names.next(); !next.done; next = await names.next()) {
      first.push(next.value);
      count += next.value.split("\0").length;
      if (count >= PACKED_FROM) break;
    }
    if (first.length === 0) return;
    const packing = count >= PACKED_FROM ? ["-c", "core.bigFileThreshold=1"] : [];
    const args = [...packing, "update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
    async function* all() {
      yield* first;
      yield* names;
    }
    await textOf(git(args, all(), shared));
  }

  async function* compare(before: Snapshot, after: Snapshot): AsyncGenerator<Difference> {
    if (before.tree === after.tree) return;
    try {
      const output = git(["diff-tree", "-r", "-z", before.tree, after.tree]);
      for await (const { name, ...rest } of parseDifferences(output))
        yield { path: pathIn(top, name), ...rest };
    } catch (error) {
      startAgain();
      throw error;
    }
  }

  async function* read(objects: readonly string[]): AsyncGenerator<Buffer | undefined> {
    const input = objects.map((object) => `${object}\n`);
    for await (const bytes of readObjects(objects, git(["cat-file", "--batch"], input, shared))) {
      if (!bytes) startAgain();
      yield bytes;
    }
  }

  return {
    top,
    take: (scope) => exclusive(() => take(scope)),
    compare,
    read,
    async filesNamed(name) {
      const args = [
        "ls-files",
        "-z",
        "-c",
        "-o",
        "--exclude-standard",
        "--",
        `:(glob)**/${escapeGlob(name)}`,
      ];
      const output = await exclusive(() => textOf(git(args, [], { GIT_LITERAL_PATHSPECS: "0" })));
      return output
        .split("\0")
        .filter(Boolean)
        .map((one) => pathIn(top, one));
    },
    metadataOf: metadata.of,
    usualMetadata: metadata.usual,
    async close() {
      ending.abort();
      await chain;
      if (existsSync(directory)) forgetIndex();
    },
  };
}

/** Escapes a name for a pathspec with `:(glob)`. */
function escapeGlob(name: string): string {
  return name.replace(/[\\*?[\]]/g, "\\$&");
}
