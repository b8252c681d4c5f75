/** Programs of the system that are asked for facts. */
import { execFile } from "node:child_process";

/** One of the system's that takes longer hangs (milliseconds). */
const TIMEOUT = 3000;

/** A table of many processes with long command lines (bytes). */
const MAX_OUTPUT = 64_000_000;

/**
 * @param timeout milliseconds
 * @returns what a program prints, nothing when it fails or is missing
 */
export function run(program: string, args: readonly string[], timeout = TIMEOUT): Promise<string> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout, maxBuffer: MAX_OUTPUT }, (error, stdout) =>
      resolve(error ? "" : stdout),
    );
  });
}
