/** The content of discovery files, and the variables of the same meaning. */
import { delimiter } from "node:path";
import { IDE_INFO } from "../contract/companion.ts";
import type { Profile } from "../profiles/profiles.ts";

/** What a discovery file says. */
export interface Announcement {
  /** The editor's process as a CLI finds it from a shell in `:terminal`. */
  pid: number;
  /** Neovim's own process. */
  editorPid: number;
  port: number;
  authToken: string;
}

/** The content of a discovery file. */
export interface Discovery {
  port: number;
  /** Absolute workspace roots, joined by the platform's path separator. */
  workspacePath: string;
  authToken: string;
  ideInfo: { name: string; displayName: string };
  /** The rest is Qwen Code's: it deletes a file whose process is dead, or that has none and lists two roots. */
  ppid?: number;
  ideName?: string;
}

/** The content of the discovery file that a CLI of this profile reads. */
export function discoveryContent(
  { content }: Pick<Profile, "content">,
  { editorPid, port, authToken }: Announcement,
  workspace: readonly string[],
): Discovery {
  const process = content === "lock" ? { ppid: editorPid, ideName: IDE_INFO.displayName } : {};
  const path = workspacePath(content, workspace);
  return { port, workspacePath: path, authToken, ...process, ideInfo: IDE_INFO };
}

/** Whether a list of directories can hold one with the platform's path separator in its name. */
export function listsAny({ content }: Pick<Profile, "content">): boolean {
  return content === "lock";
}

/** Qwen Code (0.21.10 and later) reads a text that begins with a bracket as JSON. */
function workspacePath(content: Profile["content"], workspace: readonly string[]): string {
  const needsJson = content === "lock" && workspace.some((path) => path.includes(delimiter));
  return needsJson ? JSON.stringify(workspace) : workspace.join(delimiter);
}

/**
 * What leads a CLI that is started in this editor here. Qwen Code takes the token from the file, and our hooks from here.
 */
export function discoveryVariables(
  { env, content }: Pick<Profile, "env" | "content">,
  { pid, port, authToken }: Announcement,
  workspace: readonly string[],
): Record<string, string> {
  return {
    [`${env}SERVER_PORT`]: String(port),
    [`${env}WORKSPACE_PATH`]: workspacePath(content, workspace),
    [`${env}AUTH_TOKEN`]: authToken,
    [`${env}PID`]: String(pid),
  };
}

/** Variables of another editor's companion that would lead a CLI away from this one. */
export function foreignVariables({ env, blank }: Pick<Profile, "env" | "blank">): string[] {
  return blank.map((name) => env + name);
}
