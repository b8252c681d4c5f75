/**
 * Runs Git in repositories that may be hostile. The commands run no filters and no hooks, write nothing, and fetch
 * nothing. In the work tree, Git reads only ignore files and attributes files.
 */
import { execFile } from "node:child_process";

/** Maximum size of Git's output (bytes). Larger output is an error. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Default timeout of each Git process. */
const GIT_TIMEOUT_MS = 5_000;

/**
 * Settings that override the repository's configuration. They are passed as arguments, because old releases of Git
 * ignore the environment variable GIT_CONFIG_COUNT.
 */
const SETTINGS = ["core.fsmonitor=", "core.hooksPath=/dev/null", "core.quotePath=false"];

function environment(): NodeJS.ProcessEnv {
  // Leaves out Git's variables. When Git starts Neovim to edit a commit message, these variables name the repository of
  // the commit.
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_"));
  return {
    ...Object.fromEntries(own),
    GIT_OPTIONAL_LOCKS: "0",
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "none", // a repository can name a program that fetches missing objects; prevents such fetches
    GIT_TERMINAL_PROMPT: "0",
    GIT_LITERAL_PATHSPECS: "1",
    LC_ALL: "C",
  };
}

/**
 * Runs Git with arguments and standard input.
 * @param cwd any directory in the work tree
 * @param timeout maximum duration (milliseconds)
 * @returns the complete output; undefined after a failure or timeout
 */
export function runGit(
  cwd: string,
  args: readonly string[],
  input = "",
  timeout = GIT_TIMEOUT_MS,
): Promise<Buffer | undefined> {
  const settings = SETTINGS.flatMap((setting) => ["-c", setting]);
  return new Promise((resolve) => {
    const limits = { timeout, killSignal: "SIGKILL", maxBuffer: MAX_OUTPUT_BYTES } as const;
    const options = { cwd, env: environment(), encoding: "buffer", ...limits } as const;
    const git = execFile("git", [...settings, ...args], options, (error, stdout) =>
      resolve(error ? undefined : stdout),
    );
    git.stdin?.on("error", () => {}); // Git may end before it has read all input
    git.stdin?.end(input);
  });
}
