/**
 * Finds the root directory whose files are compared after a shell command: the top of the Git work tree, or the
 * directory itself outside work trees.
 */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { attempt } from "../../base/attempt.ts";
import { disk } from "../../system/disk.ts";
import { realPath } from "../../system/file-state.ts";
import { isBelow } from "../../system/path-relations.ts";
import { readUpToSync } from "../../system/small-file.ts";
import { GitFailure, runGit } from "./run-git.ts";

/** Maximum size of a file with ignore patterns (bytes). */
const MAX_RULES_BYTES = 1024 * 1024;

/** The user's Git repository. */
export interface Repository {
  /** Directory with the objects. */
  readonly objects: string;
  /** Path of the index. */
  readonly index: string;
}

export interface Root {
  /** Absolute path with all symbolic links resolved. */
  readonly top: string;
  /** Hash function of Git's objects. */
  readonly format: "sha1" | "sha256";
  /** Undefined outside work trees. */
  readonly repository?: Repository | undefined;
  /** The user's ignore patterns that are not in `.gitignore` files. */
  readonly rules: string;
}

/** Reason why a directory is not compared: Git does not trust the owner of its repository. */
export const REFUSED = "Git refuses a repository of another user (see safe.directory in git-config(1))";

/**
 * Finds the root of a directory. Asks Git in the user's repository. Git only reads settings there.
 * @throws {GitFailure} if Git refuses the repository because of its owner, or does not answer
 */
export async function findRoot(directory: string): Promise<Root> {
  const cwd = await realPath(directory);
  const reading = readRules(cwd);
  const questions = ["--show-toplevel", "--absolute-git-dir", "--git-common-dir", "--show-object-format"];
  const args = ["rev-parse", "--path-format=absolute", ...questions];
  const output = await runGit({ cwd, args, timeout: 5_000 }).catch((error) => {
    if (error instanceof GitFailure && /dubious ownership|unsafe repository/.test(error.text))
      throw new GitFailure(REFUSED);
    return "";
  });
  const rules = await reading;
  const outside: Root = { top: cwd, format: "sha1", rules };
  const [top, gitDirectory, common, format, ...rest] = output.split("\n");
  if (!top || !gitDirectory || !common || rest.length !== 1 || top !== (await realPath(top))) return outside;
  // A repository can name any directory as its work tree.
  if (!isBelow(cwd, top)) return outside;
  return {
    top,
    format: format === "sha256" ? "sha256" : "sha1",
    repository: { objects: join(common, "objects"), index: join(gitDirectory, "index") },
    rules: rules + textOf(join(common, "info/exclude")),
  };
}

/** Returns the patterns of core.excludesFile. */
async function readRules(cwd: string): Promise<string> {
  const asked = runGit({ cwd, args: ["config", "--path", "--get", "core.excludesFile"], timeout: 5_000 });
  const named = (await asked.catch(() => "")).replace(/\n$/, "");
  const folder = process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config");
  return textOf(named || join(folder, "git/ignore"));
}

/** Reads a file with patterns. Returns an empty text for a missing or huge file, and for a pipe. */
function textOf(path: string): string {
  return attempt(() => `${readUpToSync(path, MAX_RULES_BYTES).content.toString("latin1")}\n`) ?? "";
}

/** Lists the linked work trees of a repository below a directory, also those in ignored folders. */
export async function linkedWorkTrees({ top, repository }: Root): Promise<string[]> {
  if (!repository || !existsSync(join(dirname(repository.objects), "worktrees"))) return [];
  const args = ["worktree", "list", "--porcelain"];
  const output = await runGit({ cwd: top, args, timeout: 5_000 }).catch(() => "");
  const paths = [...output.matchAll(/^worktree (\/.*)$/gm)].map(([, path = ""]) => path);
  return paths.filter((path) => path !== top && isBelow(path, top));
}

/** Returns whether a directory is the top of a work tree. */
export async function isWorkTree(directory: string): Promise<boolean> {
  return disk.lstat(join(directory, ".git")).then(
    () => true,
    () => false,
  );
}

/** Returns whether the disk of a root treats names as equal that differ only in case. */
export async function isCaseIgnored({ top, repository }: Root): Promise<boolean> {
  const path = repository ? join(top, ".git") : top;
  const swapped = basename(path).replace(/[a-z]/gi, (c) => (c < "a" ? c.toLowerCase() : c.toUpperCase()));
  if (swapped === basename(path)) return false;
  const [own, other] = await Promise.all(
    [path, join(dirname(path), swapped)].map((one) => disk.lstat(one).catch(() => undefined)),
  );
  return other !== undefined && other.ino === own?.ino;
}
