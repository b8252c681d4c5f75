/** What has changed in a Git work tree, and the bytes of a file from when it was clean, where they are known exactly. */
import { join } from "node:path";
import { type Git, openGit } from "./git.ts";

/** Git tells of so many changed files; where there are more nothing is looked at. */
const MAX_FILES = 1_000;

/** A file that differs from the last commit. */
export interface DirtyFile {
  /** Absolute. */
  readonly path: string;
  /** Relative to the work tree. */
  readonly name: string;
  /** The object of the last commit; nothing for a file that is not in it. */
  readonly object?: string | undefined;
  /** Permission bits there. */
  readonly mode: number;
}

export interface WorkTree {
  /** Its directory. */
  readonly top: string;
  /** The commit that is checked out. */
  readonly head: string;
  readonly dirty: ReadonlyMap<string, DirtyFile>;
}

/**
 * @param directory in the work tree
 * @param patience milliseconds for each question to git
 * @returns nothing outside of a work tree, or when git does not answer in time
 */
export async function readWorkTree(directory: string, patience: number): Promise<WorkTree | undefined> {
  const git = await openGit(directory, patience);
  const [top, status] = await Promise.all([
    git(["rev-parse", "--show-toplevel"]),
    git([
      "status",
      "--porcelain=v2",
      "--branch",
      "-z",
      "--no-renames",
      "--untracked-files=all",
      "--ignore-submodules=all",
    ]),
  ]);
  if (!top || !status) return undefined;
  return parseStatus(String(top).replace(/\n$/, ""), String(status));
}

function parseStatus(top: string, status: string): WorkTree | undefined {
  let head = "";
  const dirty = new Map<string, DirtyFile>();
  for (const entry of status.split("\0")) {
    const [, commit] = /^# branch\.oid (\S+)$/.exec(entry) ?? [];
    head = commit ?? head;
    // 1 XY sub mH mI mW hH hI path, of an unmerged one: u XY sub m1 m2 m3 mW h1 h2 h3 path
    const [, mode, object, name] =
      /^1 \S+ \S+ \d{3}(\d{3}) \S+ \S+ (\S+) \S+ (.*)$/s.exec(entry) ??
      /^()(?:\?|u(?: \S+){9})() (.*)$/s.exec(entry) ??
      [];
    if (name === undefined) continue;
    const path = join(top, name);
    const isCommitted = object !== "" && !/^0+$/.test(object ?? "");
    dirty.set(path, {
      path,
      name,
      object: isCommitted ? object : undefined,
      mode: Number.parseInt(mode || "644", 8),
    });
  }
  return dirty.size > MAX_FILES ? undefined : { top, head, dirty };
}

/** Attributes by which the bytes on disk are others than those of the object. */
const CONVERSIONS = ["filter", "ident", "working-tree-encoding"];
const LINE_ENDS = ["text", "eol", "crlf"];

/**
 * The bytes that files had on disk while they were clean.
 * @param files of the last commit
 * @returns by path; without those of which they are not known exactly
 */
export async function cleanBytes(
  { top }: WorkTree,
  files: readonly DirtyFile[],
  patience: number,
): Promise<Map<string, Buffer>> {
  const git = await openGit(top, patience);
  const [objects, sizes, isConverted] = await Promise.all([
    readObjects(git, files),
    sizesOnDisk(git, files),
    conversions(git, files),
  ]);
  const known = new Map<string, Buffer>();
  for (const { path, name, object } of files) {
    const bytes = objects.get(object ?? "");
    if (!bytes || isConverted(name, CONVERSIONS)) continue;
    // What git noted of the clean file: other line ends would have made it another size.
    const isSame = sizes.get(name) === bytes.length || !isConverted(name, LINE_ENDS);
    if (isSame) known.set(path, bytes);
  }
  return known;
}

async function readObjects(git: Git, files: readonly DirtyFile[]): Promise<Map<string, Buffer>> {
  const input = files.map(({ object = "" }) => `${object}\n`).join("");
  const output = (await git(["cat-file", "--batch"], input)) ?? Buffer.alloc(0);
  const objects = new Map<string, Buffer>();
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf("\n", at);
    const [, object, type, size] = /^(\S+) (\S+) (\d+)$/.exec(output.toString("latin1", at, end)) ?? [];
    at = end + 1;
    if (object === undefined) continue; // of one that is missing there is only this line
    if (type === "blob") objects.set(object, output.subarray(at, at + Number(size)));
    at += Number(size) + 1;
  }
  return objects;
}

async function sizesOnDisk(git: Git, files: readonly DirtyFile[]): Promise<Map<string, number>> {
  const names = files.map(({ name }) => `:(literal)${name}`);
  const output = await git(["ls-files", "--debug", "-z", "--", ...names]);
  const sizes = new Map<string, number>();
  const entry = /([^\0]*)\0(?: {2}\w+:.*\n)* {2}size: (\d+)\tflags: .*\n/g;
  for (const [, name = "", size] of String(output ?? "").matchAll(entry)) sizes.set(name, Number(size));
  return sizes;
}

/** @returns whether one of these attributes, or a setting, may convert a file */
async function conversions(
  git: Git,
  files: readonly DirtyFile[],
): Promise<(name: string, attributes: readonly string[]) => boolean> {
  const [autocrlf, values] = await Promise.all([
    git(["config", "--type=bool-or-str", "--default=false", "--get", "core.autocrlf"]),
    git(
      ["check-attr", "-z", "--stdin", ...CONVERSIONS, ...LINE_ENDS],
      files.map(({ name }) => `${name}\0`).join(""),
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
