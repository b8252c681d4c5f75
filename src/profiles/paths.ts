/**
 * The places of a profile's files. They begin with `~`, the home directory, `{tmp}`, the temporary one, `{config}`, that
 * of the user's settings, or `${NAME:-path}`: what the variable says, or else the path.
 */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, normalize } from "node:path";
import { here } from "../system/here.ts";
import { findProgram } from "../system/program.ts";
import type { System, Variables } from "../system/system.ts";
import type { Profile } from "./profiles.ts";

/** The path as a program with these variables takes it; relative where a variable of the user's is. */
export function expand(path: string, env: Variables = process.env, system: System = here): string {
  const [, name = "", fallback = "", rest = ""] = /^\$\{(\w+):-(.*)\}(\/[^{}]*)$/.exec(path) ?? [];
  if (name !== "") return join(expand(env[name] || fallback, env, system), rest);
  const home = env["HOME"] || homedir();
  const expanded = path
    .replace(/^\{tmp\}/, () => system.temporaryDirectory(env))
    .replace(/^\{config\}\/([^/]+)/, (_, program: string) => system.settingsDirectory(program, env, home))
    .replace(/^~(?=\/|$)/, () => home);
  return normalize(expanded);
}

/** The directory of the discovery files. */
export function directoryOf({ directory }: Pick<Profile, "directory">, env?: Variables): string {
  return expand(directory, env);
}

/** Whether a CLI may look for this editor: in the home directory nothing is made for one that is not there. */
export function isActive(profile: Profile): boolean {
  return (
    profile.directory.startsWith("{tmp}") ||
    existsSync(dirname(directoryOf(profile))) ||
    findProgram(profile.cmd[0] ?? "", process.env) !== undefined
  );
}

/** The discovery file's name for an editor's process and the server's port. */
export function fileName({ file }: Profile, pid: number, port: number): string {
  return file.replace("{pid}", String(pid)).replace("{port}", String(port));
}

/** What a name that a CLI reads in the directory says; nothing for another file's. */
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
