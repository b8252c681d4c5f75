/** Lists the names of the files that Git must store for a snapshot, and leaves out files that are never stored. */
import { constants, type Stats } from "node:fs";
import { access } from "node:fs/promises";
import { dirname } from "node:path";
import { createYielder } from "../../base/work-slices.ts";
import { disk } from "../../system/disk.ts";
import { MAX_FILE_BYTES, realPath } from "../../system/file-state.ts";
import { isBelow, nameIn, pathIn } from "../../system/path-relations.ts";
import { isWorkTree, type Root } from "./find-root.ts";
import { splitParts, streamGit } from "./run-git.ts";

/** Limits for files of one snapshot that are not in Git: number, and total size (bytes). */
const MAX_OTHERS = 5_000;
const MAX_OTHERS_BYTES = 256 * 1024 * 1024;

/** Timeout of Git in the user's repository, whose index may be a pipe. */
const USERS_TIMEOUT_MS = 10_000;

const TOO_MANY = `more than ${MAX_OTHERS} files are not in Git`;
const TOO_LARGE = "files that are not in Git have more than 256 MB";
const TOO_LONG = "files over 8 MB are not compared";
export const UNREADABLE = "some files cannot be read";
const NOT_SHARED = "files that are not shared with agents are not compared";
const NOT_UTF8 = "there are files whose names are not valid UTF-8";

export interface ListedNames {
  /** Input for `git update-index`: names of files whose current bytes are stored, each with NUL at its end. */
  readonly names: AsyncGenerator<string>;
  /** The following fields are complete after `names` has ended. Number of names. */
  count: number;
  /** Names that the index must no longer contain. */
  readonly removed: string[];
  /** Absolute paths of repositories inside the directory. */
  readonly nested: string[];
  /** Reasons why the snapshot is incomplete. */
  readonly gaps: Set<string>;
}

export interface ListingOptions {
  readonly root: Root;
  /** Absolute paths of the directories whose files are listed. */
  readonly scope: readonly string[];
  readonly isIgnoringCase: boolean;
  /** True if the index is still empty. */
  readonly isFirst: boolean;
  /** Directory of the plugin's own files. These files are left out. */
  readonly except: string;
  /** Names of files that are never stored, with the reasons. Gets further names. */
  readonly left: Map<string, string>;
  /** Returns whether the text of a file may be stored. */
  mayKeep(path: string): boolean;
  /** Runs Git with the index of the snapshots. */
  git(args: readonly string[]): AsyncGenerator<Buffer>;
  /** Called with each file that is stored. */
  remember(path: string, found: Stats): void;
}

/** Names that Git has listed: of the index, or others. */
interface Listed {
  readonly names: readonly string[];
  readonly isIndexed: boolean;
}

export function listNames(options: ListingOptions): ListedNames {
  const { left, except, root, remember } = options;
  const { top } = root;
  let folder = { path: top, isReal: true };
  const found: ListedNames = { names: admitted(), count: 0, removed: [], nested: [], gaps: new Set() };

  async function* admitted(): AsyncGenerator<string> {
    for await (const { names, isIndexed } of listed(options, found.gaps)) {
      const input = await admittedOf(names, isIndexed);
      found.count += input.length;
      if (input.length > 0) yield `${input.join("\0")}\0`;
    }
  }

  async function admittedOf(names: readonly string[], isIndexed: boolean): Promise<string[]> {
    const input: string[] = [];
    const yieldIfDue = createYielder();
    for (const name of names) {
      await yieldIfDue();
      if (isPossible(name) && (await isAdmitted(name))) input.push(name);
      else if (isIndexed) found.removed.push(name);
    }
    return input;
  }

  function isPossible(name: string): boolean {
    const path = pathIn(top, name);
    const isNamed = !name.includes("\uFFFD");
    const isFolder = name.endsWith("/");
    if (!isNamed) found.gaps.add(NOT_UTF8);
    else if (isFolder) found.nested.push(path.slice(0, -1));
    return isNamed && !isFolder && !left.has(name) && !isBelow(path, except);
  }

  async function isAdmitted(name: string): Promise<boolean> {
    const path = pathIn(top, name);
    const stats = await statsOf(path);
    if (stats?.isDirectory() && (await isWorkTree(path))) found.nested.push(path);
    if (!stats?.isFile() && !stats?.isSymbolicLink()) return false;
    const gap = stats.isFile() ? await reasonAgainst(path, stats) : undefined;
    if (gap) found.gaps.add(gap);
    else remember(path, stats);
    return gap === undefined;
  }

  /** @returns undefined if there is no file, or if the path leads through a link */
  async function statsOf(path: string): Promise<Stats | undefined> {
    // Names of one folder follow each other.
    if (dirname(path) !== folder.path)
      folder = { path: dirname(path), isReal: (await realPath(dirname(path))) === dirname(path) };
    return folder.isReal ? disk.lstat(path).catch(() => undefined) : undefined;
  }

  async function reasonAgainst(path: string, stats: Stats): Promise<string | undefined> {
    if (stats.size > MAX_FILE_BYTES) return TOO_LONG;
    if (!(await isReadable(path, stats))) return UNREADABLE;
    return options.mayKeep(path) ? undefined : NOT_SHARED;
  }

  return found;
}

/** Lists the names that may differ from the index. Names of the index come first, to make room for others. */
async function* listed(options: ListingOptions, gaps: Set<string>): AsyncGenerator<Listed> {
  const { root, isFirst, isIgnoringCase, git, scope } = options;
  const { top, repository } = root;
  const isWhole = scope.some((one) => isBelow(top, one));
  const inside = isWhole ? [] : scope.filter((one) => isBelow(one, top)).map((one) => nameIn(top, one));
  const settings = ["-c", `core.ignoreCase=${isIgnoringCase}`];
  const users = (args: readonly string[]) =>
    streamGit({ cwd: top, args: [...settings, ...args], timeout: USERS_TIMEOUT_MS });
  // At first, the index of the user's repository tells which files are in Git.
  const isUsers = isFirst && repository !== undefined;
  const tracked = isUsers ? users(["ls-files", "-z", "--", ...inside]) : undefined;
  const known = tracked ?? (isFirst ? undefined : git(["diff-files", "-z", "--name-only"]));
  if (known) for await (const names of splitParts(known)) yield { names, isIndexed: !isFirst };
  const args = ["ls-files", "-z", "-o", "--exclude-standard", "--", ...inside];
  const names: string[] = [];
  for await (const part of splitParts(isUsers ? users(args) : git(args))) {
    names.push(...part);
    if (names.length <= MAX_OTHERS) continue;
    gaps.add(TOO_MANY);
    return yield { names: names.filter((name) => name.endsWith("/")), isIndexed: false };
  }
  await leaveLargest(options, names);
  yield { names, isIndexed: false };
}

/** Leaves out the largest files if all files together are too large. */
async function leaveLargest({ root, left }: ListingOptions, names: readonly string[]): Promise<void> {
  const sized: { name: string; size: number }[] = [];
  for (const name of names) {
    const found = await disk.lstat(pathIn(root.top, name)).catch(() => undefined);
    if (found && found.size <= MAX_FILE_BYTES && !left.has(name)) sized.push({ name, size: found.size });
  }
  let room = MAX_OTHERS_BYTES;
  for (const { name, size } of sized.sort((a, b) => a.size - b.size)) {
    room -= size;
    if (room < 0) left.set(name, TOO_LARGE);
  }
}

async function isReadable(path: string, { mode }: Stats): Promise<boolean> {
  if ((mode & 0o444) === 0o444) return true;
  return access(path, constants.R_OK).then(
    () => true,
    () => false,
  );
}
