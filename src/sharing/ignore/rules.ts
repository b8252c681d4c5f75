/** The rules of one ignore file, or of the user's own patterns: a `.gitignore` that keeps files from Gemini CLI. */
import { match } from "./match.ts";
import { type Pattern, parsePattern, segmentsOf } from "./pattern.ts";

/** All rules together may take so many steps for one path. Those of any real project take a thousandth of that. */
const MAX_STEPS = 500_000;

interface Rule extends Pattern {
  /** `!`: it takes back what rules before it said. */
  negated: boolean;
  /** It is for folders only. */
  folder: boolean;
}

export type Rules = readonly Rule[];

/** Verdicts that are remembered: more than files that are looked at again and again. */
const MAX_VERDICTS = 1_000;

/** The rules for a path take more work than a path is worth. */
export class TooMuchWork extends Error {
  override readonly name = "TooMuchWork";
}

/** @param lines of the file, or patterns */
export function parseRules(lines: readonly string[]): Rules {
  return lines.flatMap((line) => parseRule(line) ?? []);
}

function parseRule(line: string): Rule | undefined {
  if (line.startsWith("#")) return undefined;
  const text = withoutBlanks(line.replace(/\r$/, ""));
  const negated = text.startsWith("!");
  const folder = text.endsWith("/");
  const pattern = parsePattern(text.slice(negated ? 1 : 0, folder ? -1 : undefined));
  return pattern && { ...pattern, negated, folder };
}

/** Blanks at the end do not count, unless a backslash is before them. */
function withoutBlanks(line: string): string {
  let end = 0;
  for (let at = 0; at < line.length; at += 1) {
    if (line[at] === " ") continue;
    if (line[at] === "\\") at += 1;
    end = at + 1;
  }
  return line.slice(0, end);
}

/** Rules and the folder from which they count, an absolute path. */
export interface Level {
  folder: string;
  rules: Rules;
}

/**
 * Whether a file is excluded, as git says it: the last rule that matches decides, a level further in before one
 * further out, and what is in an excluded folder stays excluded.
 * @param levels the outermost first
 * @param path absolute, below all of them
 * @throws {TooMuchWork}
 */
export function isExcluded(levels: readonly Level[], path: string): boolean {
  const segments = segmentsOf(path.slice(1));
  let steps = 0;
  const spend = (more: number) => {
    steps += more;
    if (steps > MAX_STEPS) throw new TooMuchWork();
  };
  /** Of each folder on the way, and of the file. */
  const verdicts: boolean[] = [];
  for (const { folder, rules } of levels) {
    const above = folder === "/" ? 0 : folder.split("/").length - 1;
    const below = segments.slice(above);
    for (const rule of rules) {
      const matched = (depth: number) => {
        if (!rule.folder || depth < below.length - 1) verdicts[above + depth] = !rule.negated;
      };
      match(rule, below, matched, spend);
    }
  }
  return verdicts.includes(true);
}

/**
 * Whether files are excluded by rules that stay as they are, each worked out once.
 * @param tooMuch told of a file for which they take too long, and which is excluded for that
 * @returns a function of absolute paths
 */
export function createJudge(
  levels: readonly Level[],
  tooMuch: (path: string) => void,
): (path: string) => boolean {
  const verdicts = new Map<string, boolean>();
  function judge(path: string): boolean {
    try {
      return isExcluded(levels, path);
    } catch (error) {
      if (!(error instanceof TooMuchWork)) throw error;
      tooMuch(path);
      return true;
    }
  }
  return (path) => {
    const verdict = verdicts.get(path) ?? judge(path);
    if (verdicts.size >= MAX_VERDICTS) verdicts.clear();
    verdicts.set(path, verdict);
    return verdict;
  };
}
