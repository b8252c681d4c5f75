/**
 * Expands the paths in profiles. Such a path begins with `~` (home directory), `{tmp}` (temporary directory),
 * `{config}` (the user's settings directory) or `${NAME:-path}` (the value of a variable, or the path).
 */
import { existsSync, readdirSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, normalize } from "node:path";
import { attempt } from "../base/attempt.ts";
import { platform } from "../system/platform.ts";
import { findProgram } from "../system/program.ts";
import type { System, Variables } from "../system/system.ts";
import type { Profile } from "./profiles.ts";

/**
 * Expands a path for a program with this environment. If a variable has a relative path as its value, the result is
 * relative.
 */
export function expand(path: string, env: Variables = process.env, system: System = platform): string {
  const [, name = "", fallback = "", rest = ""] = /^\$\{(\w+):-(.*)\}(\/[^{}]*)$/.exec(path) ?? [];
  if (name !== "") return join(expand(env[name] || fallback, env, system), rest);
  const home = env["HOME"] || homedir();
  const expanded = path
    .replace(/^\{tmp\}/, () => system.temporaryDirectory(env))
    .replace(/^\{config\}\/([^/]+)/, (_, program: string) => system.settingsDirectory(program, env, home))
    .replace(/^~(?=\/|$)/, () => home);
  return normalize(expanded);
}

/** Returns the directory of a profile's discovery files, for a CLI with this environment. */
export function directoryOf({ directory }: Pick<Profile, "directory">, env?: Variables): string {
  return expand(directory, env);
}

/**
 * Whether to publish discovery files for a profile. If the CLI is not installed, the bridge must not create the CLI's
 * directory in the user's home.
 */
export function isActive(profile: Profile): boolean {
  const isUsed = profile.socket ? isSetUp(profile) : existsSync(dirname(directoryOf(profile)));
  return profile.directory.startsWith("{tmp}") || isUsed || isInstalled(profile);
}

/**
 * Whether a CLI has a directory for settings. A directory that contains nothing but the discovery files does not count:
 * the bridge may have created it for another CLI.
 */
export function isSetUp({ settings, directory }: Profile): boolean {
  return settings.files.some((file) => {
    const names = attempt(() => readdirSync(dirname(expand(file))));
    return names !== undefined && names.join() !== basename(directory);
  });
}

/** Returns the folders in which a CLI writes for itself, with the symbolic links of the home directory resolved. */
export function ownFoldersOf({ ownFolders }: Pick<Profile, "ownFolders">): string[] {
  return ownFolders.map((folder) => {
    const path = expand(folder);
    return join(attempt(() => realpathSync(dirname(path))) ?? dirname(path), basename(path));
  });
}

/** Whether the program of a CLI is on PATH. */
export function isInstalled({ cmd }: Pick<Profile, "cmd">): boolean {
  return findProgram(cmd[0] ?? "", process.env) !== undefined;
}

/** Returns the name of a discovery file. */
export function fileName({ file }: Profile, pid: number, port: number): string {
  return file.replace("{pid}", String(pid)).replace("{port}", String(port));
}

/**
 * Returns the process id and the port in the name of a discovery file. Returns undefined if CLIs ignore files with such
 * a name.
 */
export function readFileName(
  { file }: Pick<Profile, "file">,
  name: string,
): { pid?: number | undefined; port?: number | undefined } | undefined {
  const escaped = file.replace(/[.*+?^$()|[\]\\]/g, "\\$&");
  const pattern = escaped.replace("{pid}", "(?<pid>\\d+)").replace("{port}", "(?<port>\\d+)");
  const groups = new RegExp(`^${pattern}$`).exec(name)?.groups;
  const number = (text: string | undefined) => (text === undefined ? undefined : Number(text));
  return groups && { pid: number(groups["pid"]), port: number(groups["port"]) };
}
