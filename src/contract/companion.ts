/**
 * CONTRACT 2: defines the messages between the bridge and Gemini CLI.
 *
 * Names and shapes are those of the companion specification. The limits, and details of discovery that the
 * specification lacks, are from the code of Gemini CLI 0.61.0 (`packages/core/src/ide`).
 */
import * as z from "zod";

/** Maximum number of open files that the CLI accepts. */
export const MAX_OPEN_FILES = 10;

/** Maximum length of a selection that the CLI accepts (UTF-16 units). */
export const MAX_SELECTED_TEXT = 16_384;

/**
 * Maximum length of a path (UTF-16 units). Longer paths are impossible, because operating systems limit paths to this
 * many bytes.
 */
export const MAX_PATH_LENGTH = 4096;

/** An open file. `timestamp`: time of the last focus (Unix milliseconds). The cursor is 1-based, in UTF-16 units. */
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

/**
 * Parameters of the notification `ide/contextUpdate`. After invalid parameters, the CLI disconnects and does not
 * reconnect.
 */
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

/** Arguments of the `closeDiff` tool. `suppressNotification` has no effect, because `closeDiff` never notifies. */
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
  /** `filePath` is spelled exactly as in `openDiff`. */
  "ide/diffAccepted": { filePath: string; content: string };
  "ide/diffRejected": { filePath: string };
}

/** The client name of Gemini CLI and of derived CLIs. It comes from a class in their code (`IdeClient`). */
export const CLI_NAME = "streamable-http-client";

/** The HTTP header in which CLIs with WebSockets send the token from their lock file. */
export const SOCKET_TOKEN_HEADER = "x-claude-code-ide-authorization";

/** Name of this editor in discovery files. */
export const IDE_NAME = "neovim";
