/** Git, asked about a repository that may be hostile: it writes nothing there, and runs nothing that is configured there. */
import { spawn } from "node:child_process";

/** More output than this is refused (bytes). */
const MAX_OUTPUT = 32 * 1024 * 1024;

/** What git is asked, with what it gets on its standard input. @returns nothing when it fails or takes too long */
export type Git = (args: readonly string[], input?: string) => Promise<Buffer | undefined>;

/** Over all that a repository says. */
const SETTINGS: readonly [string, string][] = [
  ["core.fsmonitor", "false"],
  ["core.hooksPath", "/dev/null"],
  ["core.quotePath", "false"],
];

/**
 * @param directory in the work tree
 * @param patience milliseconds for each question
 */
export async function openGit(directory: string, patience: number): Promise<Git> {
  const ask =
    (settings: readonly [string, string][]): Git =>
    (args, input = "") =>
      run(directory, args, input, environment(settings), patience);
  const names = await ask(SETTINGS)(["config", "-z", "--name-only", "--get-regexp", "^filter\\."]);
  return ask([...SETTINGS, ...withoutFilters(String(names ?? ""))]);
}

/** A filter is a program, which status would run to find out whether a file has changed. */
function withoutFilters(names: string): [string, string][] {
  const drivers = new Set(
    names.split("\0").flatMap((name) => /^(filter\..*)\.[^.]*$/s.exec(name)?.[1] ?? []),
  );
  return [...drivers].flatMap((driver): [string, string][] => [
    [`${driver}.clean`, ""],
    [`${driver}.process`, ""],
    [`${driver}.required`, "false"],
  ]);
}

function environment(settings: readonly [string, string][]): NodeJS.ProcessEnv {
  // Neovim may itself have been started by git, for another repository.
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_"));
  const configured = settings.flatMap(([key, value], i) => [
    [`GIT_CONFIG_KEY_${i}`, key],
    [`GIT_CONFIG_VALUE_${i}`, value],
  ]);
  return {
    ...Object.fromEntries([...own, ...configured]),
    GIT_CONFIG_COUNT: String(settings.length),
    GIT_OPTIONAL_LOCKS: "0", // status would write the index
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "none", // an object that is not there would be fetched, by a configured program
    GIT_TERMINAL_PROMPT: "0",
    LC_ALL: "C",
  };
}

function run(
  cwd: string,
  args: readonly string[],
  input: string,
  env: NodeJS.ProcessEnv,
  timeout: number,
): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const git = spawn("git", args, {
      cwd,
      env,
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
