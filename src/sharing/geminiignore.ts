/** Reads the ignore files of folders, and caches them until they change. Treats their content as untrusted. */
import { dirname, join } from "node:path";
import { disk, fileSystem, type Question } from "../system/disk.ts";
import { NoAnswer } from "../system/network-queue.ts";
import { MAX_SMALL } from "../system/small-file.ts";
import { createJudge, createLimitedRules, findCostlyPattern, type Level } from "./rules.ts";

/** A file with patterns, as in a `.gitignore`, for files below its folder that are not shared. */
export const IGNORE_FILE = ".geminiignore";

/** An ignore file that cannot be used. Everything below its folder is excluded. */
export interface IgnoreProblem {
  file: string;
  /** The end of a sentence that begins with the file. */
  reason: string;
}

/** A folder with an ignore file. */
interface Known {
  file: string;
  /** Identifies the version of the file. */
  version: string;
  above: Known | undefined;
  /** Size of this file and those above. */
  bytes: number;
  /** Undefined if the file cannot be used: everything below is excluded. */
  levels: Level[] | undefined;
  isExcluded(path: string): boolean;
  problem?: string;
}

export interface IgnoreFiles {
  /**
   * Starts a snapshot of the disk, which reads each folder once.
   * @returns whether a file is excluded, by its absolute path; links are not followed
   */
  takeSnapshot(): (path: string) => Question<boolean>;
  /** Absolute paths of the files that were found. */
  found(): string[];
  problems(): IgnoreProblem[];
}

/** @param report called once for each problem */
export function createIgnoreFiles(report: (problem: IgnoreProblem) => void = () => {}): IgnoreFiles {
  const known = new Map<string, Known>();

  function remember(folder: string, one: Known): Known {
    const before = known.get(folder);
    known.set(folder, one);
    if (one.problem !== undefined && one.problem !== before?.problem)
      report({ file: one.file, reason: one.problem });
    return one;
  }

  /** @returns the rules for a folder, given the rules above it */
  function* enter(folder: string, above: Known | undefined): Question<Known | undefined> {
    if (above && !above.levels) return above;
    const file = join(folder, IGNORE_FILE);
    const link = yield* fileSystem.lstat(file);
    if (link.error === "ENOENT" || link.error === "ENOTDIR") {
      known.delete(folder);
      return above;
    }
    const unusable = (problem: string, version = "") =>
      remember(folder, {
        file,
        version,
        above,
        bytes: 0,
        levels: undefined,
        isExcluded: () => true,
        problem,
      });

    const found = link.value?.isSymbolicLink() ? yield* fileSystem.stat(file) : link;
    if (!found.value) return unusable(`cannot be read (${found.error})`);
    const { mtimeMs, ctimeMs, ino, dev, size } = found.value;
    const version = [mtimeMs, ctimeMs, ino, dev, size].join(" ");
    const before = known.get(folder);
    if (before?.version === version && before.above === above) return before;

    if (!found.value.isFile()) return unusable("is not a regular file", version);
    const bytes = (above?.bytes ?? 0) + size;
    if (bytes > MAX_SMALL)
      return unusable(`is too long: with the files above it, over ${MAX_SMALL} bytes`, version);
    const content = yield* fileSystem.read(file);
    if (!content.value) return unusable(`cannot be read (${content.error})`);
    const text = content.value.toString("utf8");
    const costly = findCostlyPattern(text);
    if (costly !== undefined)
      return unusable(
        `has a pattern that is too long or has too many wildcards: ${costly.slice(0, 40)}`,
        version,
      );
    const rules = createLimitedRules(text, (path) => {
      one.problem = `has rules that take too long for ${path}`;
      one.levels = undefined;
      one.isExcluded = () => true;
      report({ file, reason: one.problem });
    });
    const levels = [...(above?.levels ?? []), { folder, rules }];
    const one: Known = { file, version, above, bytes, levels, isExcluded: createJudge(levels) };
    return remember(folder, one);
  }

  return {
    takeSnapshot() {
      const entered = new Map<string, Known | undefined>();
      function* rulesOf(folder: string): Question<Known | undefined> {
        if (entered.has(folder)) return entered.get(folder);
        const above = folder === dirname(folder) ? undefined : yield* rulesOf(dirname(folder));
        const one = yield* enter(folder, above);
        entered.set(folder, one);
        return one;
      }
      return function* (path) {
        const one = yield* rulesOf(dirname(path));
        return one?.isExcluded(path) ?? false;
      };
    },
    found: () => [...known.values()].map(({ file }) => file),
    problems: () =>
      [...known.values()].flatMap(({ file, problem }) =>
        problem === undefined ? [] : [{ file, reason: problem }],
      ),
  };
}

/** Finds unusable ignore files of some folders and of the folders above them. */
export async function findIgnoreProblems(folders: readonly string[]): Promise<IgnoreProblem[]> {
  const files = createIgnoreFiles();
  const isExcluded = files.takeSnapshot();
  const silent: IgnoreProblem[] = [];
  for (const folder of folders) {
    try {
      await disk.moment().ask(() => isExcluded(join(folder, IGNORE_FILE)));
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      silent.push({ file: folder, reason: `is on a network drive: ${error.message}` });
    }
  }
  return [...files.problems(), ...silent];
}
