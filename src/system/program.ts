/** Programs as a shell finds them. */
import { accessSync, constants, statSync } from "node:fs";
import { basename, delimiter, join, resolve } from "node:path";
import { here } from "./here.ts";
import type { Variables } from "./system.ts";

/** The file that a name runs. */
export function findProgram(name: string, env: Variables): string | undefined {
  if (basename(name) !== name) return isExecutable(name) ? resolve(name) : undefined;
  const files = here.fileNames(name, env);
  return (env["PATH"] ?? "")
    .split(delimiter)
    .flatMap((directory) => files.map((file) => join(directory || ".", file)))
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
