/** Determines and checks the release of Gemini CLI. */
import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import * as z from "zod";
import { run } from "../system/program.ts";
import { readSmallFile } from "../system/small-file.ts";
import type { Findings } from "./findings.ts";

/** OLDEST and NEWEST: the range of Gemini CLI's releases that test/compat runs. */
export const OLDEST = "0.7.0";
export const NEWEST = "0.61.0";

/** Timeout for running `gemini --version` (ms). */
const TIMEOUT_MS = 10_000;

const Package = z.object({ name: z.literal("@google/gemini-cli"), version: z.string() });

export function checkRelease(findings: Findings, version: string | undefined): void {
  if (version === undefined) {
    findings.warn("The release of the CLI is unknown", "run `gemini --version` in a shell to see it");
    return;
  }
  const name = `Gemini CLI ${version}`;
  if (compare(version, OLDEST) < 0)
    findings.error(
      `${name} is too old for editors other than VS Code`,
      "npm install -g @google/gemini-cli@latest",
    );
  else if (compare(version, NEWEST) > 0)
    findings.info(`${name}, newer than the newest tested release, ${NEWEST}`);
  else findings.ok(name);
}

/** Returns the release of the Gemini CLI that a command line runs. */
export function releaseOfCommand(words: readonly string[]): string | undefined {
  return words
    .filter((word) => word.includes("/"))
    .map(packageVersion)
    .find((version) => version !== undefined);
}

/** Returns the release that a program and its arguments run, from the npm package or from `--version`. */
export async function releaseOfProgram(path: string, args: readonly string[]): Promise<string | undefined> {
  // A shell would not pass `--version` to the CLI, but would start the CLI.
  if (args.some((word) => /^-[a-z]*c$/.test(word))) return undefined;
  const version = releaseOfCommand([path, ...args]);
  return version ?? /(?<!\d)\d+\.\d+\.\d+/.exec(await run(path, [...args, "--version"], TIMEOUT_MS))?.[0];
}

/** Returns the release of the npm package that contains a file. Undefined if the package is not Gemini CLI. */
function packageVersion(path: string): string | undefined {
  try {
    for (let directory = dirname(realpathSync(path)); ; directory = dirname(directory)) {
      const file = readSmallFile(join(directory, "package.json"));
      if (file) return Package.parse(JSON.parse(file.text)).version;
      if (directory === dirname(directory)) return undefined;
    }
  } catch {
    return undefined; // not Gemini CLI's package, or no package
  }
}

function compare(version: string, other: string): number {
  const [a, b] = [version, other].map((text) => text.split(/[.-]/).slice(0, 3).map(Number));
  const differences = (a ?? []).map((part, index) => part - (b?.[index] ?? 0));
  return differences.find((difference) => difference !== 0) ?? 0;
}
