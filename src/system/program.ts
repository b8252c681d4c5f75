/** Finds programs as a shell does, and runs them. */
import { accessSync, constants, statSync } from "node:fs";
import { basename, delimiter, join, resolve } from "node:path";
import type { Variables } from "./system.ts";

/** Default timeout of a program (ms). */
const TIMEOUT_MS = 3000;

/** Maximum output of a program (bytes). A table of processes may contain many long command lines. */
const MAX_OUTPUT_BYTES = 64_000_000;

/** Finds a program by its path, or by its name in the folders of PATH. @returns undefined if no such program exists */
export function findProgram(name: string, env: Variables): string | undefined {
  if (basename(name) !== name) return isExecutable(name) ? resolve(name) : undefined;
  return (env["PATH"] ?? "")
    .split(delimiter)
    .map((directory) => join(directory || ".", name))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Runs a program. @returns the output, or "" if the program fails or does not exist */
export async function run(program: string, args: readonly string[], timeout = TIMEOUT_MS): Promise<string> {
  const { execFile } = await import("node:child_process"); // loaded late, so that the host starts fast
  return new Promise((resolve) => {
    execFile(program, args, { timeout, maxBuffer: MAX_OUTPUT_BYTES }, (error, stdout) =>
      resolve(error ? "" : stdout),
    );
  });
}

/**
 * Runs a program with open files.
 * @param files file descriptors. The program finds the files at /dev/fd/3 and the following paths
 * @returns whether the program succeeded
 */
export async function runWithFiles(
  program: string,
  args: readonly string[],
  files: readonly number[],
): Promise<boolean> {
  const { spawn } = await import("node:child_process");
  return new Promise((resolve) => {
    spawn(program, args, { stdio: ["ignore", "ignore", "ignore", ...files], timeout: TIMEOUT_MS })
      .on("error", () => resolve(false))
      .on("close", (code) => resolve(code === 0));
  });
}
