/** Runs programs of the system. */

/** Default timeout of a program (milliseconds). */
const TIMEOUT_MS = 3000;

/** Maximum output: a process table may have many long command lines (bytes). */
const MAX_OUTPUT_BYTES = 64_000_000;

/**
 * @param timeout milliseconds
 * @returns the output of a program, or "" if it fails or does not exist
 */
export async function run(program: string, args: readonly string[], timeout = TIMEOUT_MS): Promise<string> {
  const { execFile } = await import("node:child_process"); // keeps the start of the host fast
  return new Promise((resolve) => {
    execFile(program, args, { timeout, maxBuffer: MAX_OUTPUT_BYTES }, (error, stdout) =>
      resolve(error ? "" : stdout),
    );
  });
}

/** @returns whether the program ended without an error */
export async function succeeds(program: string, args: readonly string[]): Promise<boolean> {
  const { execFile } = await import("node:child_process");
  return new Promise((resolve) => {
    execFile(program, args, { timeout: TIMEOUT_MS }, (error) => resolve(error === null));
  });
}
