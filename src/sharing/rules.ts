/** The rules of ignore files and the user's own patterns. The npm package `ignore` matches them as git does. */
import { closeSync, openSync } from "node:fs";
import { Script } from "node:vm";
import ignore from "ignore";

/**
 * Limit for the rules of one file on one path (ms). A repository can hold rules that are made to cost. The rules of a
 * large project take a hundredth of it.
 */
const MAX_TIME_MS = 500;

/** Limits of a pattern in an ignore file: above these even one match could cost too much. */
const MAX_PATTERN_LENGTH = 1_000;
const MAX_WILDCARDS = 20;

/** More than a clock needs. */
const SPARE_DESCRIPTORS = 8;

/** Paths remembered at once. */
const MAX_PATHS = 1_000;

type Verdict = "ignored" | "unignored" | "unknown";

export interface Rules {
  /**
   * @param path relative to the folder of the rules
   * @returns the verdict on each folder on the way and on the file itself; nothing when the rules cannot be applied
   */
  judge(path: string): readonly Verdict[] | undefined;
}

/** The user's patterns, which are trusted. */
export function createRules(patterns: string | readonly string[]): Rules {
  let matcher = ignore({ allowRelativePaths: true }).add(patterns);
  let asked = 0;
  return {
    judge(path) {
      asked += 1;
      // The package remembers every path.
      if (asked % MAX_PATHS === 0) matcher = ignore({ allowRelativePaths: true }).add(matcher);
      const verdicts: Verdict[] = [];
      for (let end = path.indexOf("/"); end >= 0; end = path.indexOf("/", end + 1))
        verdicts.push(verdictOf(matcher.test(path.slice(0, end + 1))));
      verdicts.push(verdictOf(matcher.test(path)));
      return verdicts;
    },
  };
}

/**
 * The rules of an ignore file.
 * @param tooSlow told of the first path for which they take too long; they are not tried again
 */
export function createLimitedRules(text: string, tooSlow: (path: string) => void): Rules {
  const rules = createRules(text);
  let isSlow = false;
  return {
    judge(path) {
      if (isSlow || !hasDescriptors()) return undefined;
      let verdicts: readonly Verdict[] | undefined;
      try {
        withinTime(() => {
          verdicts = rules.judge(path);
        });
      } catch {
        // The time is up, or the engine has no space left.
        isSlow = true;
        tooSlow(path);
      }
      return verdicts;
    },
  };
}

function verdictOf({ ignored, unignored }: { ignored: boolean; unignored: boolean }): Verdict {
  return ignored ? "ignored" : unignored ? "unignored" : "unknown";
}

/** The first pattern of an ignore file that is too long or has too many wildcards. */
export function findCostlyPattern(text: string): string | undefined {
  const isCostly = (line: string) =>
    line.length > MAX_PATTERN_LENGTH || (line.match(/\*+/g)?.length ?? 0) > MAX_WILDCARDS;
  return text.split("\n").find((line) => !line.startsWith("#") && isCostly(line));
}

/** Rules, and the folder from which they count, an absolute path. */
export interface Level {
  readonly folder: string;
  readonly rules: Rules;
}

/**
 * Whether a file is excluded: of each folder on the way and of the file itself, the innermost level that says something
 * decides. Unlike git, an inner level cannot take back a folder that an outer one excludes.
 * @param levels the outermost first
 * @param path absolute, below all of them
 * @returns nothing when rules cannot be applied
 */
export function isExcluded(levels: readonly Level[], path: string): boolean | undefined {
  const inward: { above: number; verdicts: readonly Verdict[] }[] = [];
  for (const { folder, rules } of levels) {
    const base = folder === "/" ? "/" : `${folder}/`;
    const verdicts = rules.judge(path.slice(base.length));
    if (!verdicts) return undefined;
    inward.unshift({ above: base.split("/").length - 2, verdicts });
  }
  const depths = path.split("/").length - 1;
  for (let depth = 0; depth < depths; depth += 1) {
    const said = inward.map(({ above, verdicts }) => verdicts[depth - above] ?? "unknown");
    if (said.find((verdict) => verdict !== "unknown") === "ignored") return true;
  }
  return false;
}

/** Whether files are excluded by rules that stay as they are, each worked out once. What cannot be decided is excluded. */
export function createJudge(levels: readonly Level[]): (path: string) => boolean {
  const verdicts = new Map<string, boolean>();
  return (path) => {
    const verdict = verdicts.get(path) ?? isExcluded(levels, path);
    if (verdict === undefined) return true;
    if (verdicts.size >= MAX_PATHS) verdicts.clear();
    verdicts.set(path, verdict);
    return verdict;
  };
}

const TASK = Symbol.for("gemini-bridge.task");
const SCRIPT = new Script(`globalThis[Symbol.for("${TASK.description}")]()`);

/** Only a script can be stopped in the middle of a regular expression. @throws when the time is up */
function withinTime(task: () => void): void {
  Object.assign(globalThis, { [TASK]: task });
  SCRIPT.runInThisContext({ timeout: MAX_TIME_MS });
}

/** Node ends the process when there are no descriptors left for the clock of a script. */
function hasDescriptors(): boolean {
  const spare: number[] = [];
  try {
    while (spare.length < SPARE_DESCRIPTORS) spare.push(openSync("/dev/null", "r"));
    return true;
  } catch {
    return false;
  } finally {
    for (const file of spare) closeSync(file);
  }
}
