/** What the disk says about a file: whether it is there, and whether it may be shared. */
import { homedir } from "node:os";
import { type Asking, type Disk, disk as thisDisk } from "../system/disk.ts";
import { createIgnoreFiles, type IgnoreProblem } from "./ignore-files.ts";
import { createJudge, createRules } from "./rules.ts";

/** An answer from a network is asked for again when it is older than this and wanted (milliseconds). */
const FRESH = 2_000;

/** `absent` is whatever is not a regular file on disk, or on a network that does not answer. */
export type Verdict = "absent" | "excluded" | "shared";

export interface Files {
  /**
   * Looks at files at one moment: what is asked for again is answered as before.
   * @param exclude patterns of the user's, see {@link anchor}
   * @returns a function of absolute paths
   */
  look(exclude: readonly string[]): (path: string) => Verdict;
  /** The ignore files that were found. */
  ignoreFiles(): string[];
  /** Those of them that cannot be used: what lies below them is excluded. */
  problems(): IgnoreProblem[];
  /** Forgets what networks have answered, and tells of no further answer until the next look. May run twice. */
  close(): void;
}

export interface FilesOptions {
  /** Told once of each ignore file that cannot be used. */
  report?: ((problem: IgnoreProblem) => void) | undefined;
  /** A network has answered, so that another look is worth it. */
  answered?: () => void;
  disk?: Asking;
}

/** What a network has said of a file. */
interface Remote {
  verdict: Verdict;
  /** Of `performance.now()`; nothing while it is asked. */
  at: number | undefined;
}

export function createFiles({
  report = () => {},
  answered = () => {},
  disk = thisDisk,
}: FilesOptions = {}): Files {
  const ignoreFiles = createIgnoreFiles(report);
  const remote = new Map<string, Remote>();
  let patterns: readonly string[] = [];
  let isExcluded = (_: string) => false;
  let stop: (() => void) | undefined;
  let due: NodeJS.Timeout | undefined;

  /** Asks for what the network says, for the next look. @returns what it said last */
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
    problems: ignoreFiles.problems,
    close,
    look(exclude) {
      if (exclude !== patterns) {
        patterns = exclude;
        isExcluded = createJudge([{ folder: "/", rules: createRules(exclude.map(anchor)) }]);
        remote.clear();
      }
      // One that was silent may say something else now.
      stop ??= disk.onAnswer(() => {
        for (const known of remote.values()) known.at &&= -FRESH;
        answered();
      });
      const isExcludedByUser = isExcluded;
      const moment = disk.moment();
      const isIgnored = ignoreFiles.look();

      function verdictOn(disk: Disk, path: string): Verdict {
        if (!disk.stat(path).value?.isFile()) return "absent";
        // A link must not give away what its target's name protects.
        const target = disk.realpath(path).value;
        if (target === undefined) return "absent";
        for (const name of new Set([path, target])) {
          if (isExcludedByUser(name) || isIgnored(disk, name)) return "excluded";
        }
        return "shared";
      }

      function verdictNow(path: string): Verdict {
        const known = remote.get(path);
        if (known && known.at === undefined) return known.verdict; // it is being asked
        if (known?.at !== undefined && performance.now() - known.at < FRESH) {
          // What made this look necessary may have changed the answer, too.
          due ??= setTimeout(lookAgain, FRESH).unref();
          return known.verdict;
        }
        const verdict = moment.ask((disk) => verdictOn(disk, path));
        return typeof verdict === "string" ? verdict : later(path, verdict);
      }

      const verdicts = new Map<string, Verdict>();
      return (path) => {
        const verdict = verdicts.get(path) ?? verdictNow(path);
        verdicts.set(path, verdict);
        return verdict;
      };
    },
  };
}

/**
 * A user's pattern as one relative to the root of the file system. Without the `**` in front, gitignore takes a pattern
 * with a slash in it, such as `secrets/*.txt`, for one that counts from its own folder, and it would protect nothing.
 */
function anchor(pattern: string): string {
  const [, not = "", rest = ""] = /^(!?)(.*)$/s.exec(pattern) ?? [];
  if (rest.startsWith("~/")) return `${not}${homedir()}${rest.slice(1)}`;
  return /^\/|^\*\*\//.test(rest) ? pattern : `${not}**/${rest}`;
}
