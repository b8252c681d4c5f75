/** Programs as a shell finds them. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import type { Variables } from "./cli.ts";

/** The file that a name runs. */
export function findProgram(name: string, env: Variables): string | undefined {
  if (name.includes("/")) return isExecutable(name) ? resolve(name) : undefined;
  const paths = (env["PATH"] ?? "").split(delimiter).map((directory) => join(directory || ".", name));
  return paths.find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
