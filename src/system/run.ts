/** Programs of the system that are asked for facts. */

/** One of the system's that takes longer hangs (milliseconds). */
const TIMEOUT = 3000;

/** A table of many processes with long command lines (bytes). */
const MAX_OUTPUT = 64_000_000;

/**
 * @param timeout milliseconds
 * @returns what a program prints, nothing when it fails or is missing
 */
export async function run(program: string, args: readonly string[], timeout = TIMEOUT): Promise<string> {
  const { execFile } = await import("node:child_process"); // not before CLIs can find the editor
  return new Promise((resolve) => {
    execFile(program, args, { timeout, maxBuffer: MAX_OUTPUT }, (error, stdout) =>
      resolve(error ? "" : stdout),
    );
  });
}

/** Runs a program that changes something. @returns whether it did what it should */
export async function succeeds(program: string, args: readonly string[]): Promise<boolean> {
  const { execFile } = await import("node:child_process");
  return new Promise((resolve) => {
    execFile(program, args, { timeout: TIMEOUT }, (error) => resolve(error === null));
  });
}
