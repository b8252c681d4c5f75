/** Compares the rules of ignore files with git itself. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import t, { type Test } from "tap";
import { createRules, isExcluded, type Level } from "../../src/sharing/ignore-files.ts";
import { fuzz } from "../support/fuzz.ts";
import { makeDirectory, withEnv } from "../support/sandbox.ts";

/** Ignore files by folder. Folders are relative to the top folder, which is "". */
type Files = Record<string, string[]>;

/** Creates a repository in which git checks paths. */
function repository(t: Test) {
  const top = makeDirectory(t);
  const git = (args: string[], input = ""): string => {
    const [file = "", ...words] = withEnv({ PATH: process.env["PATH"] ?? "", HOME: top }, ["git", ...args]);
    try {
      return execFileSync(file, words, { cwd: join(top, "repo"), input, encoding: "utf8" });
    } catch (error) {
      // Exit code 1 means that no path is ignored.
      if (error instanceof Error && "status" in error && error.status === 1 && "stdout" in error)
        return String(error.stdout);
      throw error;
    }
  };
  mkdirSync(join(top, "repo"));
  git(["init", "--quiet", "--template="]);
  return {
    /** Returns the paths that git ignores. The files need not exist. */
    ignored(files: Files, paths: readonly string[]): string[] {
      for (const [folder, lines] of Object.entries(files)) {
        const file = join(top, "repo", folder, ".gitignore");
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, lines.map((line) => `${line}\n`).join(""));
      }
      const args = ["-c", "core.ignorecase=true", "check-ignore", "--no-index", "-z", "--stdin"];
      const answer = git(args, paths.map((path) => `${path}\0`).join(""));
      for (const folder of Object.keys(files)) rmSync(join(top, "repo", folder, ".gitignore"));
      return answer.split("\0").slice(0, -1);
    },
  };
}

/** Returns the paths that the plugin's rules exclude. */
function excluded(files: Files, paths: readonly string[]): string[] {
  const levels = (path: string): Level[] =>
    Object.entries(files)
      .filter(([folder]) => folder === "" || path.startsWith(`${folder}/`))
      .map(([folder, lines]) => ({ folder: join("/repo", folder), rules: createRules(lines) }));
  return paths.filter((path) => isExcluded(levels(path), `/repo/${path}`));
}

t.test("the rules of gitignore(5) apply as in git", async (t) => {
  const { ignored } = repository(t);
  const paths = [
    "a",
    "b",
    "ab",
    "axb",
    "aXb",
    "a.txt",
    "A.TXT",
    "x/a",
    "x/b",
    "a/b",
    "a/x/b",
    "a/x/y/b",
    "ax/y/b",
  ];
  paths.push(
    "x/y/a",
    "a]b",
    "a[b",
    "a-b",
    "x/a.txt",
    "x/b/c",
    "#a",
    "!a",
    "a ",
    "a\\",
    "*",
    "éa",
    "xé",
    "-",
    "]",
  );
  const patterns = [
    "a",
    "/a",
    "a/",
    "a/b",
    "/a/b",
    "x/",
    "*",
    "/*",
    "*.txt",
    "*.TXT",
    "a*",
    "a*b",
    "a?b",
    "x/*",
  ];
  patterns.push("**", "/**", "**/", "**/a", "**/b/**", "a/**", "a/**/b", "a/**/", "a**b", "**b", "a/b**");
  patterns.push("a/**b", "***", "a/***/b", "x/**/**/a", "[ab]", "[!a]", "[^a]", "a[]]b", "a[!]]b", "a[[]b");
  patterns.push(
    "a[-x]b",
    "a[x-]b",
    "a[a-z]b",
    "a[z-a]b",
    "[[:alpha:]]",
    "a[[:punct:]]b",
    "a[[:nope:]]b",
    "a[[:x]b",
  );
  patterns.push(
    "a[x/]b",
    "a[b",
    "a[",
    "[",
    "[]",
    "[!]",
    "[\\]]",
    "\\a",
    "\\*",
    "a\\",
    "\\#a",
    "#a",
    "\\!a",
    "!a",
  );
  patterns.push(
    "a ",
    "a\\ ",
    "a\\  ",
    " a",
    "a\r",
    "\r",
    "",
    " ",
    "/",
    "//",
    "//a",
    "a//",
    "éa",
    "*é",
    "!",
    "!!a",
  );
  for (const pattern of patterns) {
    const files = { "": [pattern] };
    t.same(excluded(files, paths), ignored(files, paths), JSON.stringify(pattern));
  }
});

t.test("two stars beside a name count as one star, as in gitignore(5), although git differs", async (t) => {
  const paths = ["ab", "a/b", "axx/b", "a/x/b"];
  t.same(excluded({ "": ["a**/b"] }, paths), ["a/b", "axx/b"]);
});

t.test("an inner ignore file can include an excluded file, but not an excluded folder", async (t) => {
  const paths = ["in/x/a", "in/x", "in/a"];
  t.same(excluded({ "": ["a"], in: ["!a"] }, paths), []);
  t.same(excluded({ "": ["x/"], in: ["!x/"] }, paths), ["in/x/a"]);
});

t.test("random rules in random folders give the same verdicts as git", { timeout: 3_600_000 }, async (t) => {
  const { ignored } = repository(t);
  const letter = fc.constantFrom("a", "b", "c", "A");
  const piece = fc.oneof(
    { weight: 6, arbitrary: letter },
    { weight: 3, arbitrary: fc.constantFrom("*", "**", "?", "/", "/**/", "**/", "/**") },
    {
      weight: 1,
      arbitrary: fc.constantFrom("[ab]", "[!a]", "[a-c]", "[]a]", "[b", "]", "\\", "\\*", " ", "***"),
    },
  );
  const pattern = fc
    .tuple(
      fc.constantFrom("", "", "", "!", "/"),
      fc.array(piece, { maxLength: 7 }),
      fc.constantFrom("", "", "/"),
    )
    .map(([before, pieces, after]) => before + pieces.join("") + after)
    // git treats such stars as folders. gitignore(5) and the package `ignore` treat them as one star.
    .filter((text) => !/[^/*]\*{2,}\/|\*{2,}\\/.test(text))
    // With core.ignoreCase, git never matches an escaped uppercase letter. The plugin's rules ignore the escape.
    .filter((text) => !text.includes("\\A"));
  const folder = fc.constantFrom("", "a", "a/b", "b", "c/a");
  const files = fc.uniqueArray(fc.tuple(folder, fc.array(pattern, { minLength: 1, maxLength: 6 })), {
    selector: ([name]) => name,
    minLength: 1,
    maxLength: 3,
  });
  const name = fc.string({ unit: fc.constantFrom("a", "b", "c", "A", "*", " "), minLength: 1, maxLength: 5 });
  const usual = fc.constantFrom("a", "b", "c", "ab", "abc", "ca");
  const path = fc
    .array(fc.oneof(usual, name), { minLength: 1, maxLength: 5 })
    .map((names) => names.join("/"))
    // These folders exist. git would treat the paths as folders.
    .filter((path) => !["a", "a/b", "b", "c", "c/a"].includes(path));
  const property = fc.property(
    files,
    fc.uniqueArray(path, { minLength: 1, maxLength: 40 }),
    (list, paths) => {
      // Sorts outer folders before inner folders.
      const files = Object.fromEntries(list.sort(([one], [other]) => one.length - other.length));
      const [expected, all] = [ignored(files, paths), excluded(files, paths)];
      // If an outer ignore file excludes a folder, an inner ignore file cannot include files in that folder.
      const takesBack = list.slice(1).some(([, lines]) => lines.some((line) => line.startsWith("!")));
      const found = takesBack ? all.filter((path) => expected.includes(path)) : all;
      if (expected.join("\n") !== found.join("\n"))
        throw new Error(`git: ${JSON.stringify(expected)}; we: ${JSON.stringify(found)}`);
    },
  );
  fc.assert(property, fuzz(t, "ignore rules", 200));
});
