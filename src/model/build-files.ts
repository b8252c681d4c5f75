/**
 * Recognizes files of the build: what they contain runs with the next build, test or installation. Gemini CLI 0.61.0
 * asks in every approval mode before it edits such a file, but it cannot know what a tool of an MCP server edits.
 */
import { basename } from "node:path";
import { realPath } from "../system/file-state.ts";

/** Names of files of the build, in lower case, because some file systems ignore the case. */
const NAMES = new Set([
  // Node
  "package.json",
  "package-lock.json",
  "npm-shrinkwrap.json",
  "pnpm-lock.yaml",
  "yarn.lock",
  "bun.lock",
  "bun.lockb",
  // Python
  "setup.py",
  "setup.cfg",
  "pyproject.toml",
  "poetry.lock",
  "uv.lock",
  "pipfile",
  "pipfile.lock",
  // Go, Rust, Ruby, PHP
  "go.mod",
  "go.sum",
  "cargo.toml",
  "cargo.lock",
  "gemfile",
  "gemfile.lock",
  "composer.json",
  "composer.lock",
  // Java
  "pom.xml",
  // Make, CMake, Bazel, containers
  "makefile",
  "gnumakefile",
  "cmakelists.txt",
  "build",
  "workspace",
  ".bazelrc",
  ".blazerc",
  "dockerfile",
  "containerfile",
]);

const PATTERN =
  /^(dockerfile|containerfile)\.|^requirements.*\.txt$|\.(mk|cmake|bzl|bazel|bzlmod|gradle|gradle\.kts)$/;

/** Returns whether a file, or the file to which a link leads, belongs to the build. */
export async function isBuildFile(path: string): Promise<boolean> {
  const names = [path, await realPath(path)].map((each) => basename(each).toLowerCase());
  return names.some((name) => NAMES.has(name) || PATTERN.test(name));
}
