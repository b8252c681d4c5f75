/** Finds processes in the process table. */
import { basename } from "node:path";
import { codeOf } from "./error-code.ts";
import { platform } from "./platform.ts";
import type { Process, ProcessTable } from "./system.ts";

/**
 * Finds the processes that run a program, directly or as a script. A process may have restarted itself as a child, as
 * Gemini CLI does: only the parent is then returned.
 * @param program command line of the program, and the npm package that contains its scripts
 */
export function processesOf(
  table: ProcessTable,
  { cmd, package: name }: { cmd: readonly string[]; package?: string | undefined },
): Process[] {
  const program = programName(cmd);
  const names = ["", ".js", ".mjs", ".cjs"].map((ending) => program + ending);
  const isScript = (word: string) =>
    names.includes(basename(word)) || (name !== undefined && isIn(name, word));
  const runs = (process: Process) => {
    const words = process.command.split(" ");
    const [first = "", ...others] = words;
    return programName(words) === program || scriptsOf(first, others).some(isScript);
  };
  const found = [...table.values()].filter(runs);
  const isFound = (pid: number) => found.some((process) => process.pid === pid);
  return found.filter(({ parent }) => !isFound(parent)).sort((a, b) => a.pid - b.pid);
}

/**
 * Returns the name of the program that a command line runs. If an interpreter runs a script, returns the name of the
 * script, because the interpreter also runs other programs. If a package manager runs a package without installing it,
 * as `npx @google/gemini-cli` does, returns the name of the package.
 */
export function programName([first = "", ...others]: readonly string[]): string {
  const script = scriptsOf(first, others).find((word) => !/^-|\s/.test(word));
  const asked = packageIn(first, others);
  if (asked !== undefined) return asked;
  if (script === undefined) return nameOf(first);
  return packageIn(script, others.slice(others.indexOf(script) + 1)) ?? nameOf(script);
}

/** Whether a command line runs a program, directly or by its npm package. */
export function runsProgram(
  cmd: readonly string[],
  program: { cmd: readonly string[]; package?: string | undefined },
): boolean {
  return [programName(program.cmd), program.package].includes(programName(cmd));
}

function nameOf(file: string): string {
  return basename(file).replace(/\.[cm]?js$/, "");
}

/**
 * Returns the npm package, without its version, that a package manager runs.
 * @param manager the program or script. npx calls itself "npm exec"
 * @returns undefined if the program is not a package manager, or runs no package
 */
function packageIn(manager: string, args: readonly string[]): string | undefined {
  const words = args.filter((word) => !word.startsWith("-"));
  if (/^(npm|pnpm|yarn|bun)$/.test(nameOf(manager))) {
    if (!/^(exec|x|dlx)$/.test(words.shift() ?? "")) return undefined;
  } else if (!/^(npx|npx-cli|pnpx|bunx)$/.test(nameOf(manager))) return undefined;
  // Leaves out values of options, such as the address of a registry.
  const asked = words.find((word) => /^(@[\w.-]+\/)?[\w.-]+(@|$)/.test(word));
  const version = asked?.indexOf("@", 1) ?? -1;
  return version < 0 ? asked : asked?.slice(0, version);
}

/**
 * Returns the words of a command line that may name the running script. Returns none if the program is not an
 * interpreter: an editor, for example, may have a script among its arguments only because the script is open.
 */
function scriptsOf(program: string, words: readonly string[]): readonly string[] {
  if (/^node(js)?$/.test(basename(program))) return words;
  if (!/^(bun|sh|bash|python3?)$/.test(basename(program))) return [];
  return words.filter((word) => !word.startsWith("-")).slice(0, 1);
}

/** Whether a file belongs to an npm package itself, not to one of its dependencies. */
function isIn(name: string, file: string): boolean {
  const [, rest] = `/${file}`.split(`/node_modules/${name}/`);
  return rest !== undefined && !rest.includes("node_modules/");
}

/** Returns a process and all its descendants. */
export function familyOf(table: ProcessTable, pid: number): number[] {
  const children = [...table.values()].filter(({ parent }) => parent === pid);
  return [pid, ...children.flatMap((child) => familyOf(table, child.pid))];
}

/** Whether a process runs. The process may belong to any user. */
export function isAlive(pid: number): boolean {
  const problem = signal(pid);
  return (problem === undefined || problem === "EPERM") && !platform.isDefunct(pid);
}

/** Whether a process runs and belongs to this user. */
export function isOwnAndAlive(pid: number): boolean {
  return signal(pid) === undefined && !platform.isDefunct(pid);
}

/** Whether a process may be running. True also if this cannot be determined. */
export function mayRun(pid: number): boolean {
  return signal(pid) !== "ESRCH";
}

/** Sends signal 0 to a process. @returns the error code; undefined if the process can be signalled */
function signal(pid: number): string | undefined {
  if (pid <= 0) return "ESRCH";
  try {
    process.kill(pid, 0);
    return undefined;
  } catch (error) {
    return codeOf(error);
  }
}
