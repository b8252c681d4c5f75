/**
 * Git, asked about a repository that may be hostile. It is asked nothing for which it would read a file of the work tree
 * other than its ignore files and attributes, so that no filter runs; and nothing is written, fetched or executed.
 */
import { spawn } from "node:child_process";

/** More output than this is refused (bytes). */
const MAX_OUTPUT = 64 * 1024 * 1024;

/** What git is asked, with what it gets on its standard input. @returns nothing unless it succeeds, in time and whole */
export type Git = (args: readonly string[], input?: string | Buffer) => Promise<Buffer | undefined>;

/** Over all that a repository says. Arguments, as old releases do not know the variables for settings. */
const SETTINGS = ["core.fsmonitor=", "core.hooksPath=/dev/null", "core.quotePath=false"];

/**
 * @param directory in the work tree
 * @param timeout of each question (ms)
 */
export function openGit(directory: string, timeout: number): Git {
  const settings = SETTINGS.flatMap((setting) => ["-c", setting]);
  return (args, input = "") => run(directory, [...settings, ...args], input, timeout);
}

function environment(): NodeJS.ProcessEnv {
  // Neovim may itself have been started by git, for another repository.
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_"));
  return {
    ...Object.fromEntries(own),
    GIT_OPTIONAL_LOCKS: "0",
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "none", // an object that is not there would be fetched, by a configured program
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
      if (size > MAX_OUTPUT) git.kill("SIGKILL");
      else chunks.push(chunk);
    });
    git.stdin.on("error", () => {}); // it has ended before it read all
    git.stdin.end(input);
    git.on("error", () => resolve(undefined));
    git.on("close", (code) => resolve(code === 0 ? Buffer.concat(chunks) : undefined));
  });
}
