/**
 * Runs Git in repositories that may be hostile. The commands run no filters and no hooks, write nothing, and fetch
 * nothing. In the work tree, they read only ignore files and attributes.
 */
import { spawn } from "node:child_process";

/** Maximum size of Git's output (bytes). Larger output is an error. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/**
 * Runs Git with arguments and standard input.
 * @returns the complete output; undefined after a failure or timeout
 */
export type Git = (args: readonly string[], input?: string | Buffer) => Promise<Buffer | undefined>;

/**
 * Settings that override those of the repository. They are passed as arguments, because old releases of Git do not read
 * the environment variable GIT_CONFIG_COUNT.
 */
const SETTINGS = ["core.fsmonitor=", "core.hooksPath=/dev/null", "core.quotePath=false"];

/** @param directory any directory in the work tree @param timeout maximum duration of each command (milliseconds) */
export function openGit(directory: string, timeout: number): Git {
  const settings = SETTINGS.flatMap((setting) => ["-c", setting]);
  return (args, input = "") => run(directory, [...settings, ...args], input, timeout);
}

function environment(): NodeJS.ProcessEnv {
  // Leaves out Git's variables. If Git itself has started Neovim, for example for a commit message, they name the
  // repository of that commit.
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_"));
  return {
    ...Object.fromEntries(own),
    GIT_OPTIONAL_LOCKS: "0",
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "none", // Git would fetch a missing object with a program that the repository configures
    GIT_TERMINAL_PROMPT: "0",
    GIT_LITERAL_PATHSPECS: "1",
    LC_ALL: "C",
  };
}

function run(
  cwd: string,
  args: readonly string[],
  input: string | Buffer,
  timeout: number,
): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const git = spawn("git", args, {
      cwd,
      env: environment(),
      timeout,
      killSignal: "SIGKILL",
      stdio: ["pipe", "pipe", "ignore"],
    });
    const chunks: Buffer[] = [];
    let size = 0;
    git.stdout.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_OUTPUT_BYTES) git.kill("SIGKILL");
      else chunks.push(chunk);
    });
    git.stdin.on("error", () => {}); // Git has ended before it read all input
    git.stdin.end(input);
    git.on("error", () => resolve(undefined));
    git.on("close", (code) => resolve(code === 0 ? Buffer.concat(chunks) : undefined));
  });
}
