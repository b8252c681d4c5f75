/**
 * What the disk says about a file: whether it is there, and whether it may be shared. It is asked without a detour by
 * other threads: of a dozen questions after each event every one took a tenth of a millisecond, and takes a hundredth.
 */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, relative } from "node:path";
import ignoreModule, { type Ignore } from "ignore";

// Its types describe an ES module, its code is a CommonJS one: this is the function in both.
const ignore = ignoreModule.default;

/** The file that names, as a `.gitignore` does, what is kept from Gemini CLI below its folder. */
export const IGNORE_FILE = ".geminiignore";

/** `absent` is whatever is not a regular file on disk. */
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
}

interface Rules {
  version: string;
  ignore: Ignore;
}

export function createFiles(): Files {
  const ignoreFiles = new Map<string, Rules>();
  let patterns: readonly string[] = [];
  let excluded = ignore();

  /** The rules of one folder's ignore file, read again when it has changed. */
  function rulesOf(folder: string): Rules | undefined {
    const file = join(folder, IGNORE_FILE);
    try {
      const found = statSync(file, { throwIfNoEntry: false });
      if (!found) {
        ignoreFiles.delete(folder);
        return undefined;
      }
      const version = `${found.mtimeMs} ${found.size} ${found.ino}`;
      const known = ignoreFiles.get(folder);
      if (known?.version === version) return known;
      const rules = { version, ignore: ignore().add(readFileSync(file, "utf8")) };
      ignoreFiles.set(folder, rules);
      return rules;
    } catch {
      ignoreFiles.delete(folder);
      return undefined;
    }
  }

  return {
    ignoreFiles: () => [...ignoreFiles.keys()].map((folder) => join(folder, IGNORE_FILE)),
    look(exclude) {
      if (exclude !== patterns) {
        patterns = exclude;
        excluded = ignore().add(exclude.map(anchor));
      }
      // Files lie together: each folder is looked at once.
      const folders = new Map<string, Rules | undefined>();
      const rules = (folder: string) => {
        if (!folders.has(folder)) folders.set(folder, rulesOf(folder));
        return folders.get(folder);
      };

      function isExcluded(path: string): boolean {
        if (excluded.ignores(path.slice(1))) return true;
        let verdict = false;
        for (const folder of foldersAbove(path)) {
          const found = rules(folder)?.ignore.test(relative(folder, path));
          // As with nested files of git's, the one nearest to the file has the last word.
          if (found?.ignored) verdict = true;
          else if (found?.unignored) verdict = false;
        }
        return verdict;
      }

      function verdictOn(path: string): Verdict {
        try {
          if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return "absent";
          // A link must not give away what its target's name protects.
          const names = new Set([path, realpathSync.native(path)]);
          for (const name of names) if (isExcluded(name)) return "excluded";
          return "shared";
        } catch {
          return "absent";
        }
      }

      const verdicts = new Map<string, Verdict>();
      return (path) => {
        const verdict = verdicts.get(path) ?? verdictOn(path);
        verdicts.set(path, verdict);
        return verdict;
      };
    },
  };
}

/** All folders that hold `path`, the outermost first. */
function foldersAbove(path: string): string[] {
  const folders: string[] = [];
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    folders.unshift(folder);
    if (folder === dirname(folder)) return folders;
  }
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
