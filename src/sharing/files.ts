/** Decides whether a file exists and may be shared. */
import { homedir } from "node:os";
import { resolve } from "node:path";
import { disk, fileSystem, type Question, realExisting } from "../system/disk.ts";
import { createIgnoreFiles, createJudge, createRules, type IgnoreProblem } from "./ignore-files.ts";

/** Time for which the verdict on a file on a network drive is cached (ms). */
const CACHE_TIME_MS = 2_000;

/**
 * Whether a file may be shared with the model. `absent`: there is no regular file at the path, or its network drive
 * does not answer.
 */
export type Verdict = "absent" | "excluded" | "shared";

/**
 * A snapshot of the disk. Tells for an absolute path whether the file may be shared. The result for a file stays the
 * same.
 */
export interface SharingSnapshot {
  (path: string): Verdict;
  /** Whether the name of a deleted file may be shared. */
  mayName(path: string): Promise<boolean>;
}

export interface Files {
  /**
   * Takes a snapshot of the disk.
   * @param exclude the user's patterns of files that are not shared, see {@link anchor}
   */
  takeSnapshot(exclude: readonly string[]): SharingSnapshot;
  /** Paths of the ignore files that were found. */
  ignoreFiles(): string[];
  /** Drops cached verdicts. Does not call `answered` until the next snapshot. Idempotent. */
  close(): void;
}

export interface FilesOptions {
  /** Called once for each ignore file that cannot be used. All files below its folder are excluded. */
  report?: ((problem: IgnoreProblem) => void) | undefined;
  /** Called when a network drive has answered. Verdicts may have changed since the last snapshot. */
  answered?: () => void;
  /** Whether a missing file gets a verdict by its name. Otherwise, its verdict is `absent`. */
  judgesMissing?: boolean;
}

/** The cached verdict on a file on a network drive. */
interface Remote {
  verdict: Verdict;
  /** Time of the cached verdict, by `performance.now()`. Undefined while a new verdict is being requested. */
  at: number | undefined;
}

export function createFiles({
  report = () => {},
  answered = () => {},
  judgesMissing = false,
}: FilesOptions = {}): Files {
  const ignoreFiles = createIgnoreFiles(report);
  const remote = new Map<string, Remote>();
  let patterns: readonly string[] = [];
  let judge = createUserJudge(patterns);
  let stop: (() => void) | undefined;
  let due: NodeJS.Timeout | undefined;

  /**
   * Caches a verdict for later snapshots as soon as the verdict is known.
   * @returns the previous verdict, for this snapshot
   */
  function later(path: string, coming: Promise<Verdict>): Verdict {
    const known = remote.get(path) ?? { verdict: "absent", at: undefined };
    known.at = undefined;
    remote.set(path, known);
    const settle = (verdict: Verdict) => {
      const isNew = verdict !== known.verdict;
      known.verdict = verdict;
      known.at = performance.now();
      if (isNew && remote.get(path) === known) answered();
    };
    coming.then(settle, () => settle("absent"));
    return known.verdict;
  }

  function lookAgain(): void {
    due = undefined;
    answered();
  }

  function close(): void {
    stop?.();
    clearTimeout(due);
    stop = due = undefined;
    remote.clear();
  }

  return {
    ignoreFiles: ignoreFiles.found,
    close,
    takeSnapshot(exclude) {
      if (exclude !== patterns) {
        patterns = exclude;
        judge = createUserJudge(exclude);
        remote.clear();
      }
      // Drops all cached verdicts when a drive answers again.
      stop ??= disk.onAnswer(() => {
        for (const known of remote.values()) known.at &&= -CACHE_TIME_MS;
        answered();
      });
      const isExcludedByUser = judge;
      const moment = disk.moment();
      const isIgnored = ignoreFiles.takeSnapshot();

      function* verdictOn(path: string): Question<Verdict> {
        const found = yield* fileSystem.stat(path);
        const isMissing = judgesMissing && found.error === "ENOENT";
        if (!isMissing && !found.value?.isFile()) return "absent";
        // Excludes a symbolic link if its own path or the path of its target is excluded.
        const target = isMissing ? path : (yield* fileSystem.realpath(path)).value;
        if (target === undefined) return "absent";
        for (const name of new Set([path, target])) if (yield* isNameExcluded(name)) return "excluded";
        return "shared";
      }

      function* isNameExcluded(name: string): Question<boolean> {
        return (yield* isExcludedByUser(name)) || (yield* isIgnored(name));
      }

      function verdictNow(path: string): Verdict {
        const known = remote.get(path);
        if (known && known.at === undefined) return known.verdict; // a new verdict is being requested
        if (known?.at !== undefined && performance.now() - known.at < CACHE_TIME_MS) {
          // The change that caused this snapshot may have made the cached verdict wrong. Requests another snapshot for
          // the time when the cached verdict has expired.
          due ??= setTimeout(lookAgain, CACHE_TIME_MS).unref();
          return known.verdict;
        }
        const verdict = moment.ask(() => verdictOn(path));
        return typeof verdict === "string" ? verdict : later(path, verdict);
      }

      const verdicts = new Map<string, Verdict>();
      const look = (path: string) => {
        const verdict = verdicts.get(path) ?? verdictNow(path);
        verdicts.set(path, verdict);
        return verdict;
      };
      return Object.assign(look, {
        async mayName(path: string) {
          // Does not share the name if the drive does not answer: an ignore file on the drive may exclude the name.
          const isExcluded = moment.ask(() => isNameExcluded(path));
          return !(await Promise.resolve(isExcluded).catch(() => true));
        },
      });
    },
  };
}

/**
 * Creates a function that tells whether the user's patterns exclude an absolute path. Resolves the folders in patterns
 * only when the function is called, because a folder may be on a network drive.
 */
function createUserJudge(patterns: readonly string[]): (path: string) => Question<boolean> {
  let isExcluded: ((path: string) => boolean) | undefined;
  return function* (path) {
    if (!isExcluded) {
      const anchored: string[] = [];
      for (const pattern of patterns) anchored.push(...(yield* anchor(pattern)));
      isExcluded = createJudge([{ folder: "/", rules: createRules(anchored) }]);
    }
    return isExcluded(path);
  };
}

/** Matches the folders at the start of a pattern, without the last name. They must not contain wildcards. */
const FOLDERS = /^(?:\/[^/*?[\]\\]+(?=\/[^/]))*/;

/**
 * Converts a user's pattern so that it applies in every folder. Patterns are matched from the root of the file system:
 * without the conversion, `secrets/*.txt` would match only in the folder `/secrets`.
 * @returns two patterns if the pattern begins with a folder that has symbolic links in its path: Neovim may name a file
 * with or without these links
 */
function* anchor(pattern: string): Question<string[]> {
  const [, not = "", rest = ""] = /^(!?)(.*)$/s.exec(pattern) ?? [];
  const isInHome = rest.startsWith("~/");
  if (!isInHome && !rest.startsWith("/")) return [rest.startsWith("**/") ? pattern : `${not}**/${rest}`];
  const below = isInHome ? rest.slice(1) : rest;
  const [literal = ""] = FOLDERS.exec(below) ?? [];
  const folder = (isInHome ? resolve(homedir()) : "") + literal || "/";
  const folders = new Set([folder, yield* realExisting(folder)]);
  return [...folders].map(
    (each) => not + escapeWildcards(each.replace(/^\/+$/, "")) + below.slice(literal.length),
  );
}

/** Escapes a path, so that a pattern matches the path literally. */
function escapeWildcards(path: string): string {
  return path.replace(/[\\*?[\]]/g, "\\$&");
}
