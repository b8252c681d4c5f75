/** A CLI, running or imagined, and where it has its files (Gemini CLI 0.61.0, `Storage`). */
import { homedir, platform } from "node:os";
import { join } from "node:path";

/** Of a process's environment; what is empty counts as not set. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** All that decides about what a CLI finds and how it behaves, beside its command line. */
export interface Cli {
  readonly pid: number;
  readonly env: Variables;
  readonly cwd: string;
}

/** Node's `os.tmpdir()` for a process with these variables. */
export function temporaryDirectory(env: Variables): string {
  const path = env["TMPDIR"] || env["TMP"] || env["TEMP"] || "/tmp";
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

export function homeDirectory(env: Variables): string {
  return env["GEMINI_CLI_HOME"] || env["HOME"] || homedir();
}

/** The user's settings, policies and trusted folders. */
export function userDirectory(env: Variables): string {
  return join(homeDirectory(env), ".gemini");
}

/** The administrator's settings and policies. */
export function systemDirectory(): string {
  return platform() === "darwin" ? "/Library/Application Support/GeminiCli" : "/etc/gemini-cli";
}
