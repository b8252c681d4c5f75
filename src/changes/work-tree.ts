/** Reads a Git work tree: its files, and the bytes of files that match the index. */
import { lstatSync, type Stats } from "node:fs";
import { lstat, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createYielder } from "../base/work-slices.ts";
import { disk } from "../system/disk.ts";
import { codeOf } from "../system/error-code.ts";
import { isAbsent, realPath, versionAt } from "../system/file-state.ts";
import { type Git, openGit } from "./git.ts";
import { type GitIndex, type IndexEntry, parseIndex } from "./git-index.ts";

export interface WorkTree {
  /** Directory of the work tree, without links. */
  readonly top: string;
  readonly indexFile: string;
  /** Length of an object's name in bytes. */
  readonly idLength: number;
}

/**
 * @param directory in the work tree
 * @param timeout milliseconds
 * @returns undefined outside a work tree, if Git does not answer in time, and if the repository names a work tree that
 * does not contain the directory
 */
export async function findWorkTree(directory: string, timeout: number): Promise<WorkTree | undefined> {
  const questions = ["--show-toplevel", "--absolute-git-dir", "--show-object-format"];
  const output = await openGit(directory, timeout)(["rev-parse", ...questions]);
  const [top, folder, format, ...rest] = String(output ?? "").split("\n");
  if (!top || !folder || rest.length !== 1 || top !== (await realPath(top))) return undefined;
  if (!isBelow(await realPath(directory), top)) return undefined;
  return { top, indexFile: join(folder, "index"), idLength: format === "sha256" ? 32 : 20 };
}

export function isBelow(path: string, directory: string): boolean {
  return directory === "/" || path === directory || path.startsWith(`${directory}/`);
}

/** @param name relative to the work tree */
export function pathIn({ top }: WorkTree, name: string): string {
  return top === "/" ? `/${name}` : `${top}/${name}`;
}

/** Absolute paths. */
export interface Scope {
  /** Only files in these directories are tracked. */
  readonly directories: readonly string[];
  /** Directory of the plugin, whose files are not tracked. */
  readonly except: string;
}

/** @returns a function that tells whether a path relative to the work tree is in the scope */
export async function createFilter(
  { directories, except }: Scope,
  top: string,
): Promise<(name: string) => boolean> {
  const below = (path: string) => (path === top ? "" : path.slice(top === "/" ? 1 : top.length + 1));
  const [own, ...open] = await Promise.all([except, ...directories].map(realPath));
  const isAll = open.some((directory) => isBelow(top, directory));
  const inside = open.filter((directory) => isBelow(directory, top)).map(below);
  const without = own !== undefined && isBelow(own, top) ? below(own) : undefined;
  return (name) =>
    (isAll || inside.some((directory) => isBelow(name, directory))) &&
    (without === undefined || !isBelow(name, without));
}

/** Maximum size of an index (bytes). A repository with a million files has an index of about 100 MB. */
const MAX_INDEX_BYTES = 512 * 1024 * 1024;

/**
 * Creates a cached reader, which reads each version of an index once, and returns undefined for an index that cannot be
 * read.
 */
export function createIndexReader(): (tree: WorkTree) => Promise<GitIndex | undefined> {
  let last: { path: string; version: string; index: GitIndex | undefined } | undefined;
  return async ({ indexFile: path, idLength }) => {
    const version = await versionAt(path);
    if (last?.path === path && last.version === version) return last.index;
    const entries = await readIndex(path, idLength);
    last = { path, version, index: entries && { entries, version } };
    return last.index;
  };
}

async function readIndex(path: string, idLength: number): Promise<IndexEntry[] | undefined> {
  try {
    const found = await stat(path);
    // Reading a named pipe would block a thread of this process.
    if (!found.isFile() || found.size > MAX_INDEX_BYTES) return undefined;
    return parseIndex(await readFile(path), found.mtimeMs, idLength);
  } catch (error) {
    return codeOf(error) === "ENOENT" ? [] : undefined;
  }
}

/** @returns the files that Git neither tracks nor ignores, relative to the work tree */
export async function untrackedFiles({ top }: WorkTree, timeout: number): Promise<string[] | undefined> {
  const output = await openGit(top, timeout)(["ls-files", "--others", "--exclude-standard", "-z"]);
  // Leaves out other repositories, which end with a slash, and names that are not UTF-8.
  return (
    output &&
    String(output)
      .split("\0")
      .filter((name) => /[^/]$/.test(name) && !name.includes("\uFFFD"))
  );
}

/** State of a path: undefined if it does not exist, the error code if it cannot be read. */
export type Found = Stats | string | undefined;

/**
 * Reads the states of files in short slices, without following links.
 * @param isOver whether to stop
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

/**
 * Returns for each path whether it is free of symbolic links. A link may have replaced a folder of the index.
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

/** Attributes that make Git convert the bytes between object and disk. */
const CONVERSIONS = ["filter", "ident", "working-tree-encoding"];
const LINE_ENDS = ["text", "eol", "crlf"];

/**
 * Returns the bytes on disk of files that match the index.
 * @returns by name; without files whose bytes are not known exactly
 */
export async function cleanBytes(
  { top }: WorkTree,
  entries: readonly IndexEntry[],
  timeout: number,
): Promise<Map<string, Buffer>> {
  const git = openGit(top, timeout);
  const [objects, isConverted] = await Promise.all([readObjects(git, entries), conversions(git, entries)]);
  const known = new Map<string, Buffer>();
  for (const { name, object, size } of entries) {
    const bytes = objects.get(object);
    if (!bytes || isConverted(name, CONVERSIONS)) continue;
    // The index has the size of the file on disk. Converted line endings would have changed the size.
    if (size === bytes.length || !isConverted(name, LINE_ENDS)) known.set(name, bytes);
  }
  return known;
}

async function readObjects(git: Git, entries: readonly IndexEntry[]): Promise<Map<string, Buffer>> {
  const input = entries.map(({ object }) => `${object}\n`).join("");
  const output = (await git(["cat-file", "--batch"], input)) ?? Buffer.alloc(0);
  const objects = new Map<string, Buffer>();
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf("\n", at);
    const [, object, type, size] = /^(\S+) (\S+) (\d+)$/.exec(output.toString("latin1", at, end)) ?? [];
    at = end + 1;
    if (object === undefined) continue; // a missing object has only this line
    if (type === "blob") objects.set(object, output.subarray(at, at + Number(size)));
    at += Number(size) + 1;
  }
  return objects;
}

/** @returns a function that tells whether one of these attributes, or a setting, may convert a file */
async function conversions(
  git: Git,
  entries: readonly IndexEntry[],
): Promise<(name: string, attributes: readonly string[]) => boolean> {
  const [autocrlf, values] = await Promise.all([
    git(["config", "--type=bool-or-str", "--default=false", "--get", "core.autocrlf"]),
    git(
      ["check-attr", "-z", "--stdin", ...CONVERSIONS, ...LINE_ENDS],
      entries.map(({ name }) => `${name}\0`).join(""),
    ),
  ]);
  const set = new Set<string>();
  const fields = String(values ?? "").split("\0");
  for (let i = 0; i + 2 < fields.length; i += 3)
    if (fields[i + 2] !== "unspecified" && fields[i + 2] !== "unset")
      set.add(`${fields[i]}\0${fields[i + 1]}`);
  const always = !values || String(autocrlf) !== "false\n";
  return (name, attributes) =>
    values === undefined ||
    (attributes === LINE_ENDS && always) ||
    attributes.some((attribute) => set.has(`${name}\0${attribute}`));
}
