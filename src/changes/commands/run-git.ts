/**
 * Runs Git as a child process, in repositories that may be hostile. No filter, hook or monitor runs, and nothing is
 * fetched. Output and input are streamed.
 */
import { spawn } from "node:child_process";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createYielder } from "../../base/work-slices.ts";

/** Default maximum time without progress. Git may wait for a pipe that a repository has in place of a file. */
const TIMEOUT_MS = 60_000;

/** Maximum length of the error text that is kept (characters). */
const MAX_ERROR_LENGTH = 8_192;

/** Settings that override the configuration of the user's repository. */
const SETTINGS = ["core.fsmonitor=", "core.hooksPath=/dev/null", "core.quotePath=false"];

/** Part of the input of a Git process. */
export type Input = AsyncIterable<string | Buffer> | Iterable<string | Buffer>;

export interface GitCall {
  /** Directory in which Git runs. */
  readonly cwd: string;
  readonly args: readonly string[];
  /** Environment variables of Git, such as `GIT_DIR`. Variables that Neovim has inherited are never passed on. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly input?: Input;
  /** Maximum time for which Git reads no input and writes no output (milliseconds). */
  readonly timeout?: number;
  /** Ends Git. */
  readonly signal?: AbortSignal;
}

/** Git has failed, was ended after its timeout, or is not installed. */
export class GitFailure extends Error {
  constructor(
    /** Text that Git has written to its standard error, or the reason why Git did not start. */
    readonly text: string,
    /** True if there is no program with the name `git`. */
    readonly isMissing = false,
  ) {
    super(`git failed: ${text}`);
  }
}

function environment(own: GitCall["env"]): NodeJS.ProcessEnv {
  // When Git starts Neovim to edit a commit message, Git's variables name the repository of the commit.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_"));
  return {
    ...Object.fromEntries(inherited),
    GIT_OPTIONAL_LOCKS: "0",
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "none", // a repository can name a program that fetches missing objects; prevents such fetches
    GIT_TERMINAL_PROMPT: "0",
    GIT_LITERAL_PATHSPECS: "1",
    GIT_NO_REPLACE_OBJECTS: "1",
    LC_ALL: "C",
    ...own,
  };
}

/**
 * Runs Git, and yields its output.
 * @throws {GitFailure} after the last output if Git has failed
 */
export async function* streamGit(call: GitCall): AsyncGenerator<Buffer> {
  const { cwd, args, env, input = [], timeout = TIMEOUT_MS, signal } = call;
  const settings = SETTINGS.flatMap((setting) => ["-c", setting]);
  const git = spawn("git", [...settings, ...args], {
    cwd,
    env: environment(env),
    ...(signal && { signal }),
  });
  // Does not count the time in which the caller handles output or prepares input.
  let timer: NodeJS.Timeout | undefined;
  const stop = () => clearTimeout(timer);
  const start = () => {
    stop();
    timer = setTimeout(() => git.kill("SIGKILL"), timeout).unref();
  };
  async function* watched() {
    for await (const part of input) {
      start();
      yield part;
    }
  }
  let problem = "";
  git.stderr.setEncoding("latin1").on("data", (text: string) => {
    problem = (problem + text).slice(-MAX_ERROR_LENGTH);
  });
  let missing = false;
  const ended = new Promise<boolean>((resolve) => {
    git.on("error", (error) => {
      missing = "code" in error && error.code === "ENOENT";
      problem ||= String(error);
      resolve(false);
    });
    git.on("close", (code) => resolve(code === 0));
  });
  // Git may end before it has read all input. Then only the failure of Git counts.
  let refused: unknown;
  const fed = pipeline(Readable.from(watched()), git.stdin).catch((error: unknown) => {
    refused = error;
  });
  try {
    start();
    for await (const chunk of git.stdout) {
      stop();
      yield chunk;
      start();
    }
    if (!(await ended)) throw new GitFailure(problem, missing);
    await fed;
    if (refused) throw refused;
  } finally {
    stop();
    git.kill("SIGKILL"); // has no effect after the end
  }
}

/** Runs Git, and returns the whole output. @throws {GitFailure} */
export function runGit(call: GitCall): Promise<string> {
  return textOf(streamGit(call));
}

/** Returns the whole output of {@link streamGit}. @throws {GitFailure} */
export async function textOf(output: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of output) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/**
 * Splits output into its parts, each of which ends with NUL. Yields the parts of one piece of output at a time, and
 * lets the host answer other requests in between.
 */
export async function* splitParts(output: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  let rest: Buffer = Buffer.alloc(0);
  const yieldIfDue = createYielder();
  for await (const chunk of output) {
    await yieldIfDue();
    const end = chunk.lastIndexOf(0);
    if (end < 0) {
      rest = Buffer.concat([rest, chunk]);
      continue;
    }
    yield Buffer.concat([rest, chunk.subarray(0, end)])
      .toString()
      .split("\0");
    rest = chunk.subarray(end + 1);
  }
}

let installed: Promise<boolean> | undefined;

/** Returns whether Git 2.32 or later is installed. Asks Git only once, except after a failure. */
export async function hasGit(): Promise<boolean> {
  installed ??= runGit({ cwd: "/", args: ["version"] }).then(
    (text) => {
      const [, major = 0, minor = 0] = /^git version (\d{1,4})\.(\d{1,4})/.exec(text) ?? [];
      return Number(major) * 1_000 + Number(minor) >= 2_032;
    },
    () => false,
  );
  const isInstalled = await installed;
  if (!isInstalled) installed = undefined;
  return isInstalled;
}
