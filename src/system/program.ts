/** Finds programs as a shell does. */
import { accessSync, constants, statSync } from "node:fs";
import { basename, delimiter, join, resolve } from "node:path";
import type { Variables } from "./system.ts";

/** Returns the path of a program, given by its path or by a name in PATH; undefined if there is none. */
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
