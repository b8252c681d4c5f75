/**
 * Reads the ignore files in folders, caches them until they change, and applies their rules. Treats their content as
 * untrusted. The npm package `ignore` matches patterns as git does.
 */
import { closeSync, openSync } from "node:fs";
import { dirname, join } from "node:path";
import { Script } from "node:vm";
import ignore from "ignore";
import { IGNORE_FILES } from "../profiles/profiles.ts";
import { disk, fileSystem, type Question } from "../system/disk.ts";
import { NoAnswer } from "../system/network-queue.ts";
import { MAX_SMALL } from "../system/small-file.ts";

/** An ignore file that cannot be used. Everything below its folder is excluded. */
export interface IgnoreProblem {
  file: string;
  /** Reason why the file cannot be used, worded as the end of a sentence that begins with the file's path. */
  reason: string;
}

/** An ignore file that was read. */
interface IgnoreFile {
  /** Absolute path of the ignore file. */
  file: string;
  version: string;
  /** The nearest ignore file in the folders above this file's folder. */
  above: IgnoreFile | undefined;
  /** Total size of this ignore file and of all ignore files above it (bytes). */
  bytes: number;
  /**
   * Rules that apply in the folder. Undefined if the ignore file cannot be used: everything below its folder is then
   * excluded.
   */
  levels: Level[] | undefined;
  isExcluded(path: string): boolean;
  problem?: string;
}

interface IgnoreFiles {
  /**
   * Takes a snapshot of the disk. The snapshot reads each folder only once.
   * @returns a function that tells whether the file at an absolute path is excluded. The function does not follow links
   */
  takeSnapshot(): (path: string) => Question<boolean>;
  /** Absolute paths of all ignore files that were found. */
  found(): string[];
  problems(): IgnoreProblem[];
}

/**
 * Creates a reader of the ignore files of all CLIs. A file is excluded if the ignore files of one CLI exclude it: an
 * exception in the ignore file of another CLI does not count.
 * @param report called once for each ignore file that cannot be used
 */
export function createIgnoreFiles(report: (problem: IgnoreProblem) => void = () => {}): IgnoreFiles {
  const readers = IGNORE_FILES.map((name) => createReader(name, report));
  return {
    takeSnapshot() {
      const snapshots = readers.map((reader) => reader.takeSnapshot());
      return function* (path) {
        for (const isExcluded of snapshots) if (yield* isExcluded(path)) return true;
        return false;
      };
    },
    found: () => readers.flatMap((reader) => reader.found()),
    problems: () => readers.flatMap((reader) => reader.problems()),
  };
}

/** Creates a reader of the ignore files with one name. */
function createReader(name: string, report: (problem: IgnoreProblem) => void): IgnoreFiles {
  /** Known ignore files, by folder. */
  const known = new Map<string, IgnoreFile>();

  function remember(folder: string, one: IgnoreFile): IgnoreFile {
    const before = known.get(folder);
    known.set(folder, one);
    if (one.problem !== undefined && one.problem !== before?.problem)
      report({ file: one.file, reason: one.problem });
    return one;
  }

  /**
   * Finds the ignore file that applies in a folder.
   * @param above the ignore file that applies in the parent folder
   */
  function* enter(folder: string, above: IgnoreFile | undefined): Question<IgnoreFile | undefined> {
    if (above && !above.levels) return above;
    const file = join(folder, name);
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
      return unusable(
        `is too long: it and the ignore files above have more than ${MAX_SMALL} bytes`,
        version,
      );
    const content = yield* fileSystem.read(file);
    if (!content.value) return unusable(`cannot be read (${content.error})`);
    // In UTF-16, no pattern would match.
    if (content.value.includes(0)) return unusable("contains NUL bytes: it must be UTF-8 text", version);
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
    const one: IgnoreFile = { file, version, above, bytes, levels, isExcluded: createJudge(levels) };
    return remember(folder, one);
  }

  return {
    takeSnapshot() {
      const entered = new Map<string, IgnoreFile | undefined>();
      function* rulesOf(folder: string): Question<IgnoreFile | undefined> {
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

/** Finds ignore files that cannot be used, in these folders and in the folders above them. */
export async function findIgnoreProblems(folders: readonly string[]): Promise<IgnoreProblem[]> {
  const files = createIgnoreFiles();
  const isIgnored = files.takeSnapshot();
  const silent: IgnoreProblem[] = [];
  for (const folder of folders) {
    try {
      await disk.moment().ask(() => isIgnored(join(folder, "any file")));
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      silent.push({ file: folder, reason: `is on a network drive: ${error.message}` });
    }
  }
  return [...files.problems(), ...silent];
}

/**
 * Timeout for applying the rules of one ignore file to one path (ms). A repository may contain rules that are slow on
 * purpose. Even the rules of a large project take only a hundredth of this time.
 */
const RULES_TIMEOUT_MS = 500;
const MAX_ATTEMPTS = 3;

/** Limits for a pattern in an ignore file. Beyond these limits, even a single match could take too long. */
const MAX_PATTERN_LENGTH = 1_000;
const MAX_WILDCARDS = 20;

/**
 * Number of file descriptors that must be free before a script runs with a time limit. This is more than the timer of
 * the script needs.
 */
const SPARE_DESCRIPTORS = 8;

/** Maximum number of cached paths. */
const MAX_CACHED_PATHS = 1_000;

type Verdict = "ignored" | "unignored" | "unknown";

/**
 * Applies rules to a path.
 * @param path relative to the folder of the rules
 * @returns what the rules say about each folder of the path, and about the file itself; undefined if the rules cannot
 * be applied
 */
export type Rules = (path: string) => readonly Verdict[] | undefined;

/** Creates rules from the user's own patterns. These are trusted, so there is no time limit. */
export function createRules(patterns: string | readonly string[]): Rules {
  let matcher = ignore({ allowRelativePaths: true }).add(patterns);
  let asked = 0;
  return (path) => {
    asked += 1;
    // Replaces the matcher regularly, because its cache of paths grows without limit.
    if (asked % MAX_CACHED_PATHS === 0) matcher = ignore({ allowRelativePaths: true }).add(matcher);
    const verdicts: Verdict[] = [];
    for (let end = path.indexOf("/"); end >= 0; end = path.indexOf("/", end + 1))
      verdicts.push(verdictOf(matcher.test(path.slice(0, end + 1))));
    verdicts.push(verdictOf(matcher.test(path)));
    return verdicts;
  };
}

/**
 * Creates rules from an ignore file. Matching has a time limit.
 * @param tooSlow called with the first path that takes too long. After that, the rules are not applied to any path
 */
export function createLimitedRules(text: string, tooSlow: (path: string) => void): Rules {
  const rules = createRules(text);
  let isSlow = false;
  return (path) => {
    if (isSlow || !hasDescriptors()) return undefined;
    let verdicts: readonly Verdict[] | undefined;
    try {
      withinTime(() => {
        verdicts = rules(path);
      });
    } catch {
      // The time limit was exceeded, or the regular expression engine has no stack left.
      isSlow = true;
      tooSlow(path);
    }
    return verdicts;
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

/** Rules, with the absolute path of the folder to which they apply. */
export interface Level {
  readonly folder: string;
  readonly rules: Rules;
}

/**
 * Whether a file is excluded. Checks each folder of the path, and the file itself, against the rules of all levels. The
 * innermost level with a verdict decides. There is one exception, unlike in git: if an outer level excludes a folder,
 * an inner level cannot include files of this folder.
 * @param levels rules of folders, the outermost folder first
 * @param path absolute path below the folders of all levels
 * @returns undefined if rules cannot be applied
 */
export function isExcluded(levels: readonly Level[], path: string): boolean | undefined {
  const inward: { above: number; verdicts: readonly Verdict[] }[] = [];
  for (const { folder, rules } of levels) {
    const base = folder === "/" ? "/" : `${folder}/`;
    const verdicts = rules(path.slice(base.length));
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

/** Creates a cached version of {@link isExcluded}. It also excludes files to which the rules cannot be applied. */
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

/**
 * Runs a task with a time limit. Runs the task in a script of `node:vm`, because Node can interrupt a regular
 * expression only in a script. The limit is the time of a clock, which goes on while the machine sleeps or is busy:
 * a task that could not use the processor is tried again.
 * @throws on timeout
 */
function withinTime(task: () => void): void {
  Object.assign(globalThis, { [TASK]: task });
  for (let attempt = 1; ; attempt += 1) {
    const before = process.cpuUsage();
    try {
      return void SCRIPT.runInThisContext({ timeout: RULES_TIMEOUT_MS });
    } catch (error) {
      const usedMs = process.cpuUsage(before).user / 1_000;
      if (attempt === MAX_ATTEMPTS || usedMs > RULES_TIMEOUT_MS / 2) throw error;
    }
  }
}

/**
 * Whether enough file descriptors are free for the timer of a script. Without free descriptors, Node would abort the
 * process.
 */
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
