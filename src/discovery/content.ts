/** Builds the content of discovery files, and environment variables with the same data. */
import { delimiter } from "node:path";
import { IDE_INFO } from "../contract/companion.ts";
import type { Profile } from "../profiles/profiles.ts";

/** The data in a discovery file. */
export interface Announcement {
  /** Id of the process that a CLI in a shell of `:terminal` considers its editor. */
  pid: number;
  /** Process id of Neovim itself. */
  editorPid: number;
  port: number;
  authToken: string;
  /** Token for WebSockets; absent if the CLI uses none. */
  socketToken?: string | undefined;
}

/**
 * The content of a discovery file. The order of its keys matters, because the hooks read the file without a JSON
 * parser.
 */
interface DiscoveryContent {
  port: number;
  /** Absolute workspace roots, joined by the platform's path separator. */
  workspacePath: string;
  authToken: string;
  ideInfo: { name: string; displayName: string };
  /**
   * Process id, only for Qwen Code. Qwen Code deletes the discovery files of dead processes. It also deletes files that
   * list two roots but name no process.
   */
  ppid?: number;
  ideName?: string;
}

/**
 * The lock file of CLIs that connect by WebSocket. These CLIs delete a lock file whose process is dead, and ignore the
 * keys `ppid` and `ideInfo`. By these two keys, src/discovery/remove-leftovers-at-start.ts recognizes Neovim's files.
 */
interface SocketDiscovery extends Pick<DiscoveryContent, "ppid" | "ideInfo"> {
  pid: number;
  workspaceFolders: readonly string[];
  ideName: string;
  transport: "ws";
  authToken: string;
}

/** Builds the discovery file for the CLIs of a profile. */
export function discoveryContent(
  { content }: Pick<Profile, "content">,
  { editorPid, port, authToken, socketToken = "" }: Announcement,
  workspace: readonly string[],
): DiscoveryContent | SocketDiscovery {
  if (content === "socket")
    return {
      pid: editorPid,
      workspaceFolders: workspace,
      ideName: IDE_INFO.displayName,
      transport: "ws",
      authToken: socketToken,
      ppid: editorPid,
      ideInfo: IDE_INFO,
    };
  const process = content === "lock" ? { ppid: editorPid, ideName: IDE_INFO.displayName } : {};
  const path = workspacePath(content, workspace);
  return { port, workspacePath: path, authToken, ...process, ideInfo: IDE_INFO };
}

/** Whether the discovery file can list a directory whose name contains the platform's path separator. */
export function listsAny({ content }: Pick<Profile, "content">): boolean {
  return content !== "plain";
}

/**
 * Joins the workspace roots. If a root contains the separator, returns a JSON array, which Qwen Code 0.21.10 and later
 * can read.
 */
function workspacePath(content: Profile["content"], workspace: readonly string[]): string {
  const needsJson = content === "lock" && workspace.some((path) => path.includes(delimiter));
  return needsJson ? JSON.stringify(workspace) : workspace.join(delimiter);
}

/**
 * Returns the variables to set in this editor's terminals. CLIs use them to find this bridge, and hooks read the token.
 */
export function discoveryVariables(
  { env, content, socket }: Pick<Profile, "env" | "content" | "socket">,
  { pid, port, authToken }: Announcement,
  workspace: readonly string[],
): Record<string, string> {
  return {
    [`${env}SERVER_PORT`]: String(port),
    [`${env}WORKSPACE_PATH`]: workspacePath(content, workspace),
    [`${env}AUTH_TOKEN`]: authToken,
    [`${env}PID`]: String(pid),
    ...(socket?.variable && { [socket.variable]: String(port) }),
  };
}

/** Returns the names of variables that would lead a CLI to another editor. */
export function foreignVariables({ env, blank }: Pick<Profile, "env" | "blank">): string[] {
  return blank.map((name) => env + name);
}
