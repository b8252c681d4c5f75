/**
 * Stores snapshots of a directory in a private bare Git repository. Writes nothing into the directory, and runs no
 * program that the directory names: neither its attributes nor the settings of the user's repository apply.
 */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  rmSync,
  type Stats,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { disk } from "../../system/disk.ts";
import { type Metadata, metadataOf } from "../../system/file-state.ts";
import { pathIn } from "../../system/path-relations.ts";
import type { Root } from "./find-root.ts";
import { readObjects } from "./git-objects.ts";
import { listNames, UNREADABLE } from "./list-names.ts";
import { GitFailure, type Input, runGit, splitParts, streamGit, textOf } from "./run-git.ts";

/** Number of files from which Git writes one pack instead of a file for each object. */
const PACKED_FROM = 200;

/** Maximum size of the store of a directory (bytes). A larger store is deleted and created again. */
const MAX_STORE_BYTES = 1024 * 1024 * 1024;

/** Number of times that a snapshot is repeated without a file that Git cannot read. */
const MAX_TRIES = 4;

const CONFIG = `
[core]
	fsmonitor = false
	untrackedCache = false
	protectNTFS = false
	protectHFS = false
	precomposeUnicode = false
	hooksPath = /dev/null
	attributesFile = /dev/null
	excludesFile = /dev/null
	autocrlf = false
	fileMode = true
	symlinks = true
	splitIndex = false
	compression = 0
	looseCompression = 0
[gc]
	auto = 0
`;

export interface Snapshot {
  /** Name of the Git tree with all files. */
  readonly tree: string;
  /** Absolute paths of repositories inside the directory. The snapshot does not contain their files. */
  readonly nested: readonly string[];
  /** Reasons why the snapshot is incomplete. */
  readonly gaps: readonly string[];
}

/** A path that differs between two snapshots. A mode is Git's, such as "100644", or "000000" if there was no file. */
export interface Difference {
  readonly path: string;
  readonly modeBefore: string;
  readonly modeAfter: string;
  readonly objectBefore: string;
  readonly objectAfter: string;
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
  const metadata = new Map<string, Metadata>();
  /** The usual metadata by Git's mode. `metadata` contains only the files that differ. */
  const usual = new Map<string, Metadata>();
  /** Names of files that are never stored, with the reasons. */
  const left = new Map<string, string>();
  let isIgnoringCase = false;
  /** Tree of the last snapshot. */
  let last: string | undefined;
  const ending = new AbortController();
  let ready: Promise<void> | undefined;
  let chain: Promise<unknown> = Promise.resolve();

  const git = (args: readonly string[], input?: Input, env = {}) =>
    streamGit({
      cwd: top,
      args,
      env: { ...environment, ...env },
      signal: ending.signal,
      ...(input && { input }),
    });

  async function prepare(): Promise<void> {
    forgetIndex();
    isIgnoringCase = await isCaseIgnored(root);
    if (existsSync(directory) && (await sizeOfStore()) > MAX_STORE_BYTES)
      rmSync(directory, { recursive: true });
    if (!existsSync(join(directory, "info/attributes"))) {
      rmSync(directory, { recursive: true, force: true });
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      const args = ["init", "-q", "--bare", "--template=", `--object-format=${root.format}`, directory];
      const { GIT_CONFIG_NOSYSTEM, GIT_CONFIG_GLOBAL } = environment;
      await runGit({
        cwd: directory,
        args,
        env: { GIT_CONFIG_NOSYSTEM, GIT_CONFIG_GLOBAL },
        signal: ending.signal,
      });
      mkdirSync(join(directory, "info"), { recursive: true });
      appendFileSync(join(directory, "config"), CONFIG);
      appendFileSync(join(directory, "config"), `[core]\n\tignoreCase = ${isIgnoringCase}\n`);
      // Written last: the file tells that the store is complete.
      const attributes = "* -text -eol -filter -ident -working-tree-encoding\n";
      writeFileSync(join(directory, "info/attributes"), attributes);
    }
    writeFileSync(join(directory, "info/exclude"), root.rules, "latin1");
  }

  /** Returns the size of all objects (bytes). */
  async function sizeOfStore(): Promise<number> {
    const output = await textOf(git(["count-objects", "-v"])).catch(() => "");
    const sizes = [...output.matchAll(/^size(?:-pack)?: (\d+)$/gm)].map(([, size]) => Number(size));
    return sizes.reduce((sum, size) => sum + size, 0) * 1024;
  }

  function forgetIndex(): void {
    last = undefined;
    metadata.clear();
    usual.clear();
    for (const path of [indexFile, `${indexFile}.lock`]) rmSync(path, { force: true });
  }

  /** Runs functions one after the other, because they share the index. */
  function exclusive<T>(run: () => Promise<T>): Promise<T> {
    const done = chain.then(async () => {
      if (ending.signal.aborted) throw new GitFailure("the bridge ends");
      ready ??= prepare();
      await ready;
      return run();
    });
    chain = done.catch(() => {
      if (ending.signal.aborted) return;
      // Starts again with an empty store, which may be damaged or deleted.
      ready = undefined;
      rmSync(join(directory, "info/attributes"), { force: true });
    });
    return done;
  }

  function remember(path: string, stats: Stats): void {
    const now = metadataOf(stats);
    const mode = gitMode(stats);
    if (!usual.has(mode)) usual.set(mode, now);
    options.replaced(path, metadata.get(path));
    if (isSameMetadata(usual.get(mode), now)) metadata.delete(path);
    else metadata.set(path, now);
  }

  async function takeOnce(scope: readonly string[]): Promise<Snapshot> {
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
    let facts: string | undefined;
    for await (const parts of splitParts(git(["diff-tree", "-r", "-z", before.tree, after.tree])))
      for (const part of parts) {
        if (facts === undefined) {
          facts = part;
          continue;
        }
        const [modeBefore = "", modeAfter = "", objectBefore = "", objectAfter = ""] = facts
          .slice(1)
          .split(" ");
        facts = undefined;
        yield { path: pathIn(top, part), modeBefore, modeAfter, objectBefore, objectAfter };
      }
  }

  return {
    top,
    take: (scope) => exclusive(() => take(scope)),
    compare,
    read: (objects) =>
      readObjects(
        objects,
        git(
          ["cat-file", "--batch"],
          objects.map((object) => `${object}\n`),
          shared,
        ),
      ),
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
    metadataOf: (path, mode) => metadata.get(path) ?? usual.get(mode),
    usualMetadata: (mode) => usual.get(mode),
    async close() {
      ending.abort();
      await chain;
      if (existsSync(directory)) forgetIndex();
    },
  };
}

function gitMode(stats: Stats): string {
  if (stats.isSymbolicLink()) return "120000";
  return stats.mode & 0o100 ? "100755" : "100644";
}

function isSameMetadata(a: Metadata | undefined, b: Metadata): boolean {
  return a?.mode === b.mode && a.uid === b.uid && a.gid === b.gid;
}

/** Returns whether the disk of a root treats names as equal that differ only in case. */
async function isCaseIgnored({ top, repository }: Root): Promise<boolean> {
  const path = repository ? join(top, ".git") : top;
  const swapped = basename(path).replace(/[a-z]/gi, (c) => (c < "a" ? c.toLowerCase() : c.toUpperCase()));
  if (swapped === basename(path)) return false;
  const [own, other] = await Promise.all(
    [path, join(dirname(path), swapped)].map((one) => disk.lstat(one).catch(() => undefined)),
  );
  return other !== undefined && other.ino === own?.ino;
}

/** Escapes a name for a pathspec with `:(glob)`. */
function escapeGlob(name: string): string {
  return name.replace(/[\\*?[\]]/g, "\\$&");
}
