/**
 * CONTRACT 2: what travels between the bridge and Gemini CLI.
 *
 * Names and shapes are those of the companion specification; the limits and the
 * discovery details beyond it were read in Gemini CLI 0.61.0
 * (`packages/core/src/ide`).
 */
import * as z from "zod";
import { here } from "../platform/here.ts";
import type { System } from "../platform/system.ts";
import type { Profile } from "./profiles.ts";

/** The CLI keeps this many open files of a context. */
export const MAX_OPEN_FILES = 10;

/** The CLI keeps this many UTF-16 units of a selection. */
export const MAX_SELECTED_TEXT = 16_384;

/** An open file: `timestamp` is Unix milliseconds of the last focus; the cursor is 1-based, in UTF-16 units. */
export const File = z.strictObject({
  path: z.string().min(1),
  timestamp: z.number().nonnegative(),
  isActive: z.boolean().optional(),
  cursor: z
    .strictObject({ line: z.number().int().positive(), character: z.number().int().positive() })
    .optional(),
  selectedText: z.string().max(MAX_SELECTED_TEXT).optional(),
});
export type File = z.infer<typeof File>;

/** Parameters of `ide/contextUpdate`. One that the CLI's schema refuses disconnects its IDE mode for good. */
export const IdeContext = z.strictObject({
  workspaceState: z
    .strictObject({
      openFiles: z.array(File).max(MAX_OPEN_FILES).optional(),
      isTrusted: z.boolean().optional(),
    })
    .optional(),
});
export type IdeContext = z.infer<typeof IdeContext>;

/** Arguments of the `openDiff` tool. */
export const OpenDiffRequest = z.object({
  filePath: z.string().describe("Absolute path of the file to be diffed."),
  newContent: z.string().describe("Proposed new content of the file."),
});
export type OpenDiffRequest = z.infer<typeof OpenDiffRequest>;

/** Arguments of the `closeDiff` tool. A close by the CLI never notifies, so the flag changes nothing. */
export const CloseDiffRequest = z.object({
  filePath: z.string().describe("Absolute path of the file whose diff view should be closed."),
  suppressNotification: z
    .boolean()
    .optional()
    .describe("Accepted for older clients; closing never notifies."),
});

/** The notifications of the companion interface, by method. */
export interface IdeNotifications {
  "ide/contextUpdate": IdeContext;
  /** `filePath` is spelled exactly as it came in `openDiff`. */
  "ide/diffAccepted": { filePath: string; content: string };
  "ide/diffRejected": { filePath: string };
}

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
  system: System = here,
): Discovery {
  const process = content === "lock" ? { ppid: editorPid, ideName: IDE_INFO.displayName } : {};
  const path = workspacePath(content, workspace, system);
  return { port, workspacePath: path, authToken, ...process, ideInfo: IDE_INFO };
}

/** Whether a list of directories can hold one with the platform's path separator in its name. */
export function listsAny({ content }: Pick<Profile, "content">): boolean {
  return content === "lock";
}

/** Qwen Code (0.21.10 and later) reads a text that begins with a bracket as JSON. */
function workspacePath(
  content: Profile["content"],
  workspace: readonly string[],
  { path: { delimiter } }: System,
): string {
  const needsJson = content === "lock" && workspace.some((path) => path.includes(delimiter));
  return needsJson ? JSON.stringify(workspace) : workspace.join(delimiter);
}

/** What Gemini CLI and its kin call themselves, whatever they are: the name of a class of theirs (`IdeClient`). */
export const CLI_NAME = "streamable-http-client";

/** Both fields non-empty is what makes the CLI accept an editor other than VS Code. */
export const IDE_INFO = { name: "neovim", displayName: "Neovim" } as const;

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
    [`${env}WORKSPACE_PATH`]: workspacePath(content, workspace, here),
    [`${env}AUTH_TOKEN`]: authToken,
    [`${env}PID`]: String(pid),
  };
}

/** Variables of another editor's companion that would lead a CLI away from this one. */
export function foreignVariables({ env, blank }: Pick<Profile, "env" | "blank">): string[] {
  return blank.map((name) => env + name);
}
