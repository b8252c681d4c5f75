/** Applies the rules of ignore files and the user's patterns. The npm package `ignore` matches them as git does. */
import { closeSync, openSync } from "node:fs";
import { Script } from "node:vm";
import ignore from "ignore";

/**
 * Timeout for applying the rules of one file to one path. A repository may contain rules that are slow on purpose. The
 * rules of a large project take a hundredth of this time.
 */
const RULES_TIMEOUT_MS = 500;

/** Limits for a pattern in an ignore file. Above these, even a single match could take too long. */
const MAX_PATTERN_LENGTH = 1_000;
const MAX_WILDCARDS = 20;

/** File descriptors that must be free before a script runs with a time limit: more than its timer needs. */
const SPARE_DESCRIPTORS = 8;

/** Maximum number of cached paths. */
const MAX_CACHED_PATHS = 1_000;

type Verdict = "ignored" | "unignored" | "unknown";

export interface Rules {
  /**
   * @param path relative to the folder of the rules
   * @returns the verdicts on each folder of the path and on the file itself; undefined if the rules cannot be applied
   */
  judge(path: string): readonly Verdict[] | undefined;
}

/** Creates rules from the user's patterns, which are trusted. */
export function createRules(patterns: string | readonly string[]): Rules {
  let matcher = ignore({ allowRelativePaths: true }).add(patterns);
  let asked = 0;
  return {
    judge(path) {
      asked += 1;
      // The package caches every path without limit.
      if (asked % MAX_CACHED_PATHS === 0) matcher = ignore({ allowRelativePaths: true }).add(matcher);
      const verdicts: Verdict[] = [];
      for (let end = path.indexOf("/"); end >= 0; end = path.indexOf("/", end + 1))
        verdicts.push(verdictOf(matcher.test(path.slice(0, end + 1))));
      verdicts.push(verdictOf(matcher.test(path)));
      return verdicts;
    },
  };
}

/**
 * Creates rules from an ignore file, with a time limit.
 * @param tooSlow called with the first path that takes too long; the rules are not applied again
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
        // Timeout, or the regular expression engine has no stack left.
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

/** Finds the first pattern of an ignore file that is too long or has too many wildcards. */
export function findCostlyPattern(text: string): string | undefined {
  const isCostly = (line: string) =>
    line.length > MAX_PATTERN_LENGTH || (line.match(/\*+/g)?.length ?? 0) > MAX_WILDCARDS;
  return text.split("\n").find((line) => !line.startsWith("#") && isCostly(line));
}

/** Rules, and the absolute path of the folder to which they are relative. */
export interface Level {
  readonly folder: string;
  readonly rules: Rules;
}

/**
 * Whether a file is excluded. For each folder of the path and for the file itself, the innermost level with a verdict
 * decides. Unlike in git, an inner level cannot include a folder that an outer level excludes.
 * @param levels the outermost first
 * @param path absolute, below all levels
 * @returns undefined if rules cannot be applied
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

/** Caches the verdicts of unchanging rules. A file on which they cannot decide is excluded. */
export function createJudge(levels: readonly Level[]): (path: string) => boolean {
  const verdicts = new Map<string, boolean>();
  return (path) => {
    const verdict = verdicts.get(path) ?? isExcluded(levels, path);
    if (verdict === undefined) return true;
    if (verdicts.size >= MAX_CACHED_PATHS) verdicts.clear();
    verdicts.set(path, verdict);
    return verdict;
  };
}

const TASK = Symbol.for("gemini-bridge.task");
const SCRIPT = new Script(`globalThis[Symbol.for("${TASK.description}")]()`);

/** Runs a task with a time limit. Only a script can be stopped within a regular expression. @throws on timeout */
function withinTime(task: () => void): void {
  Object.assign(globalThis, { [TASK]: task });
  SCRIPT.runInThisContext({ timeout: RULES_TIMEOUT_MS });
}

/** Whether file descriptors are left. Without them, Node would abort the process when a script needs a timer. */
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
