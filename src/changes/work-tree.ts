/** Reads a Git work tree: its files, and the bytes of files that match the index. */
import { createHash } from "node:crypto";
import { lstatSync, type Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { attempt } from "../base/attempt.ts";
import { Refusal } from "../base/refusal.ts";
import { createYielder } from "../base/work-slices.ts";
import { disk } from "../system/disk.ts";
import { codeOf } from "../system/error-code.ts";
import { isAbsent, realPath, versionAt } from "../system/file-state.ts";
import { readOpenFile } from "../system/open-file.ts";
import { runGit } from "./git.ts";
import { type GitIndex, type IndexEntry, parseIndex } from "./git-index.ts";

export interface WorkTree {
  /** Absolute path of the work tree with all symbolic links resolved. */
  readonly top: string;
  readonly indexFile: string;
  /** Length of an object name (bytes). */
  readonly idLength: number;
}

/**
 * Finds the Git work tree of a directory.
 * @param timeout of Git (milliseconds)
 * @returns undefined if the directory is outside work trees, or if Git does not answer in time. Also undefined if the
 * repository names a work tree that does not contain the directory
 */
export async function findWorkTree(directory: string, timeout?: number): Promise<WorkTree | undefined> {
  const questions = ["--show-toplevel", "--absolute-git-dir", "--show-object-format"];
  const output = await runGit(directory, ["rev-parse", ...questions], "", timeout);
  const [top, folder, format, ...rest] = String(output ?? "").split("\n");
  if (!top || !folder || rest.length !== 1 || top !== (await realPath(top))) return undefined;
  if (!isBelow(await realPath(directory), top)) return undefined;
  return { top, indexFile: join(folder, "index"), idLength: format === "sha256" ? 32 : 20 };
}

export function isBelow(path: string, directory: string): boolean {
  return directory === "/" || path === directory || path.startsWith(`${directory}/`);
}

/** Returns the absolute path of a file in a work tree. @param name path relative to the work tree */
export function pathIn({ top }: WorkTree, name: string): string {
  return top === "/" ? `/${name}` : `${top}/${name}`;
}

/** Converts an absolute path to a path relative to a parent directory. */
export function nameIn(directory: string, path: string): string {
  return path.slice(directory === "/" ? 1 : directory.length + 1);
}

/** Directories whose files are tracked, as absolute paths. */
export interface Scope {
  /** Tracked directories. */
  readonly directories: readonly string[];
  /** Directory of the plugin's own files. These files are not tracked. */
  readonly except: string;
}

/** Creates a filter for the tracked directories. The argument of the filter is a path relative to the work tree. */
export async function createFilter(
  { directories, except }: Scope,
  top: string,
): Promise<(name: string) => boolean> {
  const [own, ...open] = await Promise.all([except, ...directories].map(realPath));
  const isAll = open.some((directory) => isBelow(top, directory));
  const inside = open.filter((directory) => isBelow(directory, top)).map((path) => nameIn(top, path));
  const without = own !== undefined && isBelow(own, top) ? nameIn(top, own) : undefined;
  return (name) =>
    (isAll || inside.some((directory) => isBelow(name, directory))) &&
    (without === undefined || !isBelow(name, without));
}

/** Maximum size of an index (bytes). A repository with a million files has an index of about 100 MB. */
const MAX_INDEX_BYTES = 512 * 1024 * 1024;

/** Maximum number of cached indexes. */
const MAX_INDEXES = 16;

/** Indexes by path, in the order in which they were read. Each index is valid until the file gets another version. */
const indexes = new Map<string, { version: string; index: GitIndex | undefined }>();

/** Reads Git's index of a work tree. Returns undefined if the index cannot be read. */
export async function readIndex({ indexFile: path, idLength }: WorkTree): Promise<GitIndex | undefined> {
  const version = await versionAt(path);
  const known = indexes.get(path);
  if (known?.version === version) return known.index;
  const entries = await readEntries(path, idLength);
  const index = entries && { entries, version };
  indexes.delete(path);
  indexes.set(path, { version, index });
  const [oldest] = indexes.keys();
  if (oldest !== undefined && indexes.size > MAX_INDEXES) indexes.delete(oldest);
  return index;
}

async function readEntries(path: string, idLength: number): Promise<IndexEntry[] | undefined> {
  try {
    const { bytes, found } = await readOpenFile(path, (_, { size }) => {
      if (size > MAX_INDEX_BYTES) throw new Refusal(`${path} is too long`);
    });
    return await parseIndex(bytes, found.mtimeMs, idLength);
  } catch (error) {
    return codeOf(error) === "ENOENT" ? [] : undefined;
  }
}

/** Untracked files that Git does not ignore, relative to the work tree. */
export interface Untracked {
  readonly files: readonly string[];
  /** Directories of other repositories inside the work tree. */
  readonly repositories: readonly string[];
  /** True if the names of some files are not valid UTF-8. These files are left out. */
  readonly hasUnnamed: boolean;
}

/**
 * Lists the untracked files of a work tree. On a case-sensitive disk, overrides core.ignoreCase: with this setting, Git
 * would leave out an untracked A.txt beside a tracked a.txt.
 * @returns undefined if Git does not answer in time
 */
export async function untrackedFiles({ top }: WorkTree): Promise<Untracked | undefined> {
  const settings = (await isCaseSensitive(top)) ? ["-c", "core.ignoreCase=false"] : [];
  const list = ["ls-files", "--others", "--exclude-standard", "-z"];
  const output = await runGit(top, [...settings, ...list]);
  if (!output) return undefined;
  const all = String(output).split("\0").filter(Boolean);
  const names = all.filter((name) => !name.includes("\uFFFD"));
  const isRepository = (name: string) => name.endsWith("/");
  return {
    files: names.filter((name) => !isRepository(name)),
    repositories: names.filter(isRepository).map((name) => name.slice(0, -1)),
    hasUnnamed: names.length < all.length,
  };
}

/**
 * Lists the other work trees of a repository that are inside this work tree, as absolute paths. Leaves out work trees
 * whose names contain a line break.
 */
export async function linkedWorkTrees({ top }: Pick<WorkTree, "top">): Promise<string[]> {
  const output = String((await runGit(top, ["worktree", "list", "--porcelain"])) ?? "");
  const paths = [...output.matchAll(/^worktree (\/.*)$/gm)].map(([, path = ""]) => path);
  return paths.filter((path) => path !== top && isBelow(path, top) && hasGit(path));
}

/** Returns true if the disk of a work tree is known to distinguish uppercase and lowercase letters. */
async function isCaseSensitive(top: string): Promise<boolean> {
  const [lowercase, uppercase] = await candidatesAt([join(top, ".git"), join(top, ".GIT")]);
  return lowercase?.found !== undefined && uppercase?.found === undefined;
}

/** Returns whether a directory is the top of a work tree. */
export function hasGit(directory: string): boolean {
  return attempt(() => lstatSync(join(directory, ".git"), { throwIfNoEntry: false })) !== undefined;
}

/** Result of `lstat`: the state of a path, undefined if nothing is there, or an error code. */
export type Found = Stats | string | undefined;

/**
 * Reads the states of files without following links. Yields to the event loop regularly.
 * @param isOver called after each pause; returns true to stop early
 */
export async function lookAt<T>(
  all: readonly T[],
  pathOf: (one: T) => string,
  take: (one: T, found: Found) => void,
  isOver = () => false,
): Promise<void> {
  const [first] = all;
  const isLocal = first === undefined || !disk.moment().isOnNetwork(pathOf(first));
  const yieldIfDue = createYielder();
  for (const one of all) {
    const pausing = yieldIfDue();
    if (pausing) {
      await pausing;
      if (isOver()) return;
    }
    const path = pathOf(one);
    take(one, isLocal ? statNow(path) : await lstat(path).catch(failure));
  }
}

function statNow(path: string): Found {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    return failure(error);
  }
}

function failure(error: unknown): string | undefined {
  const code = codeOf(error);
  return isAbsent(code) ? undefined : code;
}

export interface Candidate {
  readonly path: string;
  readonly found: Found;
}

/**
 * Returns paths with their states, see {@link lookAt}.
 * @param isOver called after each pause; returns true to stop early
 */
export async function candidatesAt(paths: readonly string[], isOver?: () => boolean): Promise<Candidate[]> {
  const candidates: Candidate[] = [];
  const take = (path: string, found: Found) => void candidates.push({ path, found });
  await lookAt(paths, (path) => path, take, isOver);
  return candidates;
}

/**
 * Returns for each path whether all folders of the path are real directories. After Git wrote its index, a symbolic
 * link may have replaced a folder.
 */
export async function areReal(paths: readonly string[]): Promise<boolean[]> {
  const folders = new Map<string, Promise<boolean>>();
  const isReal = (folder: string) => {
    const known = folders.get(folder) ?? realPath(folder).then((real) => real === folder);
    folders.set(folder, known);
    return known;
  };
  return Promise.all(paths.map((path) => isReal(dirname(path))));
}

/** Git attributes that convert the content of a file on checkout, perhaps without changing its size. */
const CONVERSIONS = ["filter", "ident", "working-tree-encoding"];

/**
 * Reads from Git the bytes that files had on disk when Git wrote its index. Returns the bytes by file name. Leaves out
 * files whose exact bytes are unknown.
 */
export async function cleanBytes(
  { top }: WorkTree,
  entries: readonly IndexEntry[],
): Promise<Map<string, Buffer>> {
  const [objects, converted] = await Promise.all([readObjects(top, entries), convertedNames(top, entries)]);
  const known = new Map<string, Buffer>();
  for (const { name, object, size } of entries) {
    const bytes = objects.get(object);
    // The index records the size on disk. If Git has converted line endings, the object has another size.
    if (bytes && size === bytes.length && !converted.has(name)) known.set(name, bytes);
  }
  return known;
}

/** Reads Git objects by name. Leaves out missing objects, and objects that the repository replaces (git-replace(1)). */
async function readObjects(top: string, entries: readonly IndexEntry[]): Promise<Map<string, Buffer>> {
  const input = entries.map(({ object }) => `${object}\n`).join("");
  const output = (await runGit(top, ["cat-file", "--batch"], input)) ?? Buffer.alloc(0);
  const objects = new Map<string, Buffer>();
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf("\n", at);
    const [, object, type, size] = /^(\S+) (\S+) (\d+)$/.exec(output.toString("latin1", at, end)) ?? [];
    at = end + 1;
    if (object === undefined) continue; // Git prints only this line for a missing object
    const bytes = output.subarray(at, at + Number(size));
    if (type === "blob" && objectName(bytes, object.length) === object) objects.set(object, bytes);
    at += Number(size) + 1;
  }
  return objects;
}

/** Returns the name that Git gives to an object with these bytes. @param length hexadecimal digits of the name */
export function objectName(bytes: Buffer, length: number): string {
  const hash = createHash(length === 64 ? "sha256" : "sha1");
  return hash.update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

/** Returns the names of files that a Git attribute may convert. Returns all names if Git does not answer. */
async function convertedNames(top: string, entries: readonly IndexEntry[]): Promise<Set<string>> {
  const names = entries.map(({ name }) => name);
  const answer = await runGit(
    top,
    ["check-attr", "-z", "--stdin", ...CONVERSIONS],
    names.map((name) => `${name}\0`).join(""),
  );
  if (!answer) return new Set(names);
  const converted = new Set<string>();
  const fields = String(answer).split("\0");
  for (let i = 0; i + 2 < fields.length; i += 3)
    if (fields[i + 2] !== "unspecified" && fields[i + 2] !== "unset") converted.add(fields[i] ?? "");
  return converted;
}
