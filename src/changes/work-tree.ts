/** What has changed in a Git work tree, and the bytes of a file from when it was clean, where they are known exactly. */
import { type Git, openGit } from "./git.ts";

/** Git tells of so many changed files; where there are more nothing is looked at. */
const MAX_FILES = 1_000;

export interface WorkTree {
  /** Its directory. */
  readonly top: string;
  /** The commit that is checked out; not one of hexadecimal digits before the first. */
  readonly head: string;
  /** Files that differ from that commit, relative to the work tree. */
  readonly dirty: ReadonlySet<string>;
}

/** A file of a commit. */
export interface CommittedFile {
  /** Relative to the work tree. */
  readonly name: string;
  readonly object: string;
  /** Of a link or a repository there are no permission bits. */
  readonly isRegular: boolean;
  /** Permission bits. */
  readonly mode: number;
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
  const dirty = new Set<string>();
  for (const entry of status.split("\0")) {
    const [, commit] = /^# branch\.oid (\S+)$/.exec(entry) ?? [];
    head = commit ?? head;
    // 1 XY sub mH mI mW hH hI path, of an unmerged one: u XY sub m1 m2 m3 mW h1 h2 h3 path; another repository ends with /
    const [, name] = /^(?:1(?: \S+){7}|\?|u(?: \S+){9}) (.*[^/])$/s.exec(entry) ?? [];
    if (name !== undefined) dirty.add(name);
  }
  return dirty.size > MAX_FILES ? undefined : { top, head, dirty };
}

/** @returns the names of files that are not the same in both commits; none where there are too many */
export async function differences(
  { top, head }: WorkTree,
  other: WorkTree,
  patience: number,
): Promise<string[]> {
  if (head === other.head || !isCommit(other.head)) return [];
  const git = await openGit(top, patience);
  const question = isCommit(head) ? ["diff-tree", "--no-renames", head] : ["ls-tree", "--full-tree"];
  const output = await git([...question, "-r", "-z", "--name-only", other.head]);
  const names = String(output ?? "")
    .split("\0")
    .filter((name) => name !== "");
  return names.length > MAX_FILES ? [] : names;
}

/** @returns those of the names that are in the commit which was checked out; nothing when git does not say */
export async function committedFiles(
  { top, head }: WorkTree,
  names: readonly string[],
  patience: number,
): Promise<Map<string, CommittedFile> | undefined> {
  if (!isCommit(head)) return new Map();
  const git = await openGit(top, patience);
  const output = await git(["ls-tree", "-z", "--full-tree", head, "--", ...names]);
  if (!output) return undefined;
  const entries = String(output).matchAll(/(\d{3})(\d{3}) \w+ (\S+)\t([^\0]*)\0/g);
  return new Map(
    [...entries].map(([, kind, mode = "", object = "", name = ""]) => [
      name,
      { name, object, isRegular: kind === "100", mode: Number.parseInt(mode, 8) },
    ]),
  );
}

function isCommit(head: string): boolean {
  return /^[0-9a-f]{40,64}$/.test(head);
}

/** Attributes by which the bytes on disk are others than those of the object. */
const CONVERSIONS = ["filter", "ident", "working-tree-encoding"];
const LINE_ENDS = ["text", "eol", "crlf"];

/**
 * The bytes that files had on disk while they were as in that commit.
 * @returns by name; without those of which they are not known exactly
 */
export async function cleanBytes(
  { top }: WorkTree,
  files: readonly CommittedFile[],
  patience: number,
): Promise<Map<string, Buffer>> {
  const git = await openGit(top, patience);
  const [objects, sizes, isConverted] = await Promise.all([
    readObjects(git, files),
    sizesOnDisk(git, files),
    conversions(git, files),
  ]);
  const known = new Map<string, Buffer>();
  for (const { name, object } of files) {
    const bytes = objects.get(object);
    if (!bytes || isConverted(name, CONVERSIONS)) continue;
    // What git noted of the clean file: other line ends would have made it another size.
    const isSame = sizes.get(name) === bytes.length || !isConverted(name, LINE_ENDS);
    if (isSame) known.set(name, bytes);
  }
  return known;
}

async function readObjects(git: Git, files: readonly CommittedFile[]): Promise<Map<string, Buffer>> {
  const input = files.map(({ object }) => `${object}\n`).join("");
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

async function sizesOnDisk(git: Git, files: readonly CommittedFile[]): Promise<Map<string, number>> {
  const names = files.map(({ name }) => `:(literal)${name}`);
  const output = await git(["ls-files", "--stage", "--debug", "-z", "--", ...names]);
  const sizes = new Map<string, number>();
  const entry = /\d+ (\S+) \d\t([^\0]*)\0(?: {2}\w+:.*\n)* {2}size: (\d+)\tflags: .*\n/g;
  for (const [, object, name = "", size] of String(output ?? "").matchAll(entry))
    if (files.some((file) => file.name === name && file.object === object)) sizes.set(name, Number(size));
  return sizes;
}

/** @returns whether one of these attributes, or a setting, may convert a file */
async function conversions(
  git: Git,
  files: readonly CommittedFile[],
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
