/** Registers the MCP tools openDiff and closeDiff. */
import { isAbsolute } from "node:path";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { Log } from "../base/log.ts";
import { Refusal, sentence } from "../base/refusal.ts";
import type { ClientReviews } from "../base/reviews.ts";
import { CloseDiffRequest, MAX_PATH_LENGTH, OpenDiffRequest } from "../contract/companion.ts";
import { disk, fileSystem } from "../system/disk.ts";

export type DiffTools = Pick<ClientReviews, "openDiff" | "closeDiff" | "dismiss">;

export function registerTools(
  server: McpServer,
  { openDiff, closeDiff, dismiss }: DiffTools,
  log: Log,
): void {
  /** The last unanswered request for each path. */
  const latest = new Map<string, AbortSignal>();

  async function answer(run: () => Promise<CallToolResult["content"]>): Promise<CallToolResult> {
    try {
      return { content: await run() };
    } catch (error) {
      // Logs the details of an internal error, but hides them from the client.
      if (error instanceof Refusal) log.info("a tool was refused:", error.message);
      else log.error("a tool failed:", error);
      return { isError: true, content: [{ type: "text", text: sentence(error) }] };
    }
  }

  server.registerTool(
    "openDiff",
    {
      description: "Opens a modifiable diff view for a file. The outcome comes as a notification.",
      inputSchema: OpenDiffRequest.shape,
    },
    (request, { signal }) =>
      answer(async () => {
        const { filePath } = request;
        let isLatest = false;
        latest.set(filePath, signal);
        try {
          await openDiff(request);
        } finally {
          isLatest = latest.get(filePath) === signal && latest.delete(filePath);
        }
        // The CLI did not wait for the answer, and would ignore a decision on this review.
        if (isLatest && signal.aborted) await dismiss(filePath, "cancelled");
        return [];
      }),
  );
  server.registerTool(
    "closeDiff",
    {
      description: "Closes the diff view of a file and answers its final content.",
      inputSchema: CloseDiffRequest.shape,
    },
    ({ filePath }) =>
      answer(async () => {
        checkLength(filePath);
        // The companion specification requires the plain content as the answer. Gemini CLI understands only a JSON
        // object with the content.
        const content = await closeDiff(filePath);
        return [{ type: "text", text: JSON.stringify({ content }) }];
      }),
  );
}

/**
 * Accepts only the path of a readable regular file, or of a new file.
 * @throws {Refusal} for any other path, or if the file is on a network drive that does not answer
 */
export async function checkFile(filePath: string): Promise<void> {
  checkLength(filePath);
  if (!isAbsolute(filePath)) throw new Refusal(`filePath must be absolute: ${filePath}`);
  if (filePath.includes("\0")) throw new Refusal("filePath must not contain a NUL character");
  const problem = await disk.moment().ask(function* () {
    const found = yield* fileSystem.stat(filePath);
    if (found.error === "ENOENT") return undefined;
    if (found.value?.isDirectory()) return "is a directory";
    if (found.value && !found.value.isFile()) return "is not a regular file";
    const { error } = found.value ? yield* fileSystem.access(filePath) : found;
    return error && `cannot be read (${error})`;
  });
  if (problem) throw new Refusal(`${filePath} ${problem}`);
}

/**
 * Checks the length of a path.
 * @throws {Refusal} if the path is too long. The message leaves out the path
 */
function checkLength(filePath: string): void {
  if (filePath.length > MAX_PATH_LENGTH) throw new Refusal("filePath is too long");
}
