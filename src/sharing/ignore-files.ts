/** The ignore files of folders: read when they have changed, and never believed to be what they seem. */
import { dirname, join } from "node:path";
import { type Disk, disk } from "../system/disk.ts";
import { NoAnswer } from "../system/queue.ts";
import { MAX_SMALL } from "../system/small-file.ts";
import { createJudge, createLimitedRules, findCostlyPattern, type Level } from "./rules.ts";

/** The file that names, as a `.gitignore` does, what is kept from Gemini CLI below its folder. */
export const IGNORE_FILE = ".geminiignore";

/** An ignore file that is there and cannot be followed: everything below its folder is kept back. */
export interface IgnoreProblem {
  file: string;
  /** As the end of a sentence that begins with the file. */
  reason: string;
}

/** What is known of a folder with an ignore file. */
interface Known {
  file: string;
  /** Changes with the file. */
  version: string;
  above: Known | undefined;
  /** Of this file and those above. */
  bytes: number;
  /** None, when the file cannot be used: everything below is kept back. */
  levels: Level[] | undefined;
  isExcluded(path: string): boolean;
  problem?: string;
}

export interface IgnoreFiles {
  /**
   * Looks at folders at one moment, at each once.
   * @returns whether a file is excluded, by its absolute path; links in it are not followed
   */
  look(): (disk: Disk, path: string) => boolean;
  /** Those that were found, absolute. */
  found(): string[];
  problems(): IgnoreProblem[];
}

/** @param report told once of each problem */
export function createIgnoreFiles(report: (problem: IgnoreProblem) => void = () => {}): IgnoreFiles {
  const known = new Map<string, Known>();

  function remember(folder: string, one: Known): Known {
    const before = known.get(folder);
    known.set(folder, one);
    if (one.problem !== undefined && one.problem !== before?.problem)
      report({ file: one.file, reason: one.problem });
    return one;
  }

  /** @returns what holds in a folder, given what holds above it */
  function enter(disk: Disk, folder: string, above: Known | undefined): Known | undefined {
    if (above && !above.levels) return above;
    const file = join(folder, IGNORE_FILE);
    const link = disk.lstat(file);
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

    const found = link.value?.isSymbolicLink() ? disk.stat(file) : link;
    if (!found.value) return unusable(`cannot be read (${found.error})`);
    const { mtimeMs, ctimeMs, ino, dev, size } = found.value;
    const version = [mtimeMs, ctimeMs, ino, dev, size].join(" ");
    const before = known.get(folder);
    if (before?.version === version && before.above === above) return before;

    if (!found.value.isFile()) return unusable("is no regular file", version);
    const bytes = (above?.bytes ?? 0) + size;
    if (bytes > MAX_SMALL)
      return unusable(`is too long: over ${MAX_SMALL} bytes, with those above it`, version);
    const content = disk.read(file);
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
    look() {
      const entered = new Map<string, Known | undefined>();
      function holdsIn(disk: Disk, folder: string): Known | undefined {
        if (entered.has(folder)) return entered.get(folder);
        const above = folder === dirname(folder) ? undefined : holdsIn(disk, dirname(folder));
        const one = enter(disk, folder, above);
        entered.set(folder, one);
        return one;
      }
      return (disk, path) => {
        const one = holdsIn(disk, dirname(path));
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

/** The ignore files of some folders, and of those above them, that cannot be used. */
export async function findIgnoreProblems(folders: readonly string[]): Promise<IgnoreProblem[]> {
  const files = createIgnoreFiles();
  const isExcluded = files.look();
  const silent: IgnoreProblem[] = [];
  for (const folder of folders) {
    try {
      await disk.moment().ask((disk) => isExcluded(disk, join(folder, IGNORE_FILE)));
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      silent.push({ file: folder, reason: `is on a network: ${error.message}` });
    }
  }
  return [...files.problems(), ...silent];
}
