/** A CLI, running or imagined, and where it has its files (Gemini CLI 0.61.0, `Storage`). */
import { homedir } from "node:os";
import { join } from "node:path";
import { here } from "../system/here.ts";
import type { Variables } from "../system/system.ts";
import { GEMINI, systemDirectory } from "./profiles.ts";

/** All that decides about what a CLI finds and how it behaves, beside its command line. */
export interface Cli {
  readonly pid: number;
  readonly env: Variables;
  readonly cwd: string;
}

export function homeDirectory(env: Variables): string {
  return env["GEMINI_CLI_HOME"] || here.homeDirectory(env) || homedir();
}

/** The user's settings, policies and trusted folders. */
export function userDirectory(env: Variables): string {
  return join(homeDirectory(env), ".gemini");
}

/** The administrator's settings and policies. */
export function administratorsDirectory(): string {
  if (!GEMINI.defaults) throw new Error("profiles.json lacks the administrator's directory of Gemini CLI");
  return systemDirectory(GEMINI.defaults);
}
