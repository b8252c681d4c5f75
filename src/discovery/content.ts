/** Builds the content of discovery files, and environment variables with the same data. */
import { basename, delimiter } from "node:path";
import { IDE_NAME } from "../contract/companion.ts";
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
 * Builds the content of the discovery file for the CLIs of a profile. The order of its keys matters, because the hooks
 * read the file without a JSON parser.
 * @param workspace absolute workspace roots
 * @param displayName name of this editor in a CLI's list of editors
 */
export function discoveryContent(
  { content }: Pick<Profile, "content">,
  { editorPid, port, authToken, socketToken = "" }: Announcement,
  workspace: readonly string[],
  displayName: string,
) {
  // Gemini CLI accepts an editor other than VS Code only if both names are set.
  const ideInfo = { name: IDE_NAME, displayName };
  // The lock file of CLIs that connect by WebSocket. These CLIs delete a lock file whose process is dead, and ignore
  // the keys `ppid` and `ideInfo`. By these two keys, src/discovery/remove-leftovers-at-start.ts recognizes Neovim's
  // files.
  if (content === "socket")
    return {
      pid: editorPid,
      workspaceFolders: workspace,
      ideName: displayName,
      transport: "ws",
      authToken: socketToken,
      ppid: editorPid,
      ideInfo,
    };
  // `ppid` is only for Qwen Code, which deletes the discovery files of dead processes. Qwen Code also deletes files that
  // list two roots but name no process.
  const process = content === "lock" ? { ppid: editorPid, ideName: displayName } : {};
  const path = workspacePath(content, workspace);
  return { port, workspacePath: path, authToken, ...process, ideInfo };
}

/** Maximum length of a folder's name in the name of an editor (characters). */
const MAX_FOLDER_LENGTH = 40;

/**
 * Names this editor for a CLI's list of editors, by its folder. Adds the process id if another editor has the same name.
 * @param others names of the other running editors
 */
export function editorName(
  { editorPid }: Pick<Announcement, "editorPid">,
  [folder = ""]: readonly string[],
  others: readonly string[],
): string {
  // A name must not control the CLI's terminal.
  const label = [...basename(folder).replace(/\p{C}/gu, "?")].slice(0, MAX_FOLDER_LENGTH).join("");
  const name = label === "" ? "Neovim" : `Neovim (${label})`;
  if (!others.includes(name)) return name;
  return label === "" ? `Neovim (${editorPid})` : `Neovim (${label}, ${editorPid})`;
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
