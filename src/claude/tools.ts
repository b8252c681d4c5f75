/** Registers the MCP tools for reviews and diagnostics. The CLI itself calls these tools, not its model. */
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { CallToolResult, RequestId } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import type { Log } from "../base/log.ts";
import { Refusal, sentence } from "../base/refusal.ts";
import type { ClientReviews } from "../base/reviews.ts";
import type { Diagnostic } from "../contract/questions.ts";
import type { Decision } from "../http/client.ts";
import { hashOfPlain, readDiskText } from "../system/disk-text.ts";

/** Returns diagnostics. @param path a file; undefined for all files that may be shared */
export type Diagnose = (path: string | undefined) => Promise<readonly Diagnostic[]>;

/** Reviews of one client, and callbacks for special cases. */
export interface ReviewsAndCallbacks {
  /** The protocol calls the name of a review `tab_name`. */
  readonly reviews: Pick<ClientReviews, "openDiff" | "dismiss" | "dismissAll">;
  /** Called when the user has accepted a text that is equal to the file. The CLI treats this as a rejection. */
  unchanged(filePath: string): void;
  /** Called when a proposed text cannot be shown. The CLI then asks in its terminal, without showing a diff. */
  refused(filePath: string, reason: string): void;
  /** Called when the user has answered in the CLI's terminal instead of in the review. */
  answered(): void;
}

interface ToolsOptions extends ReviewsAndCallbacks {
  diagnose: Diagnose;
  log: Log;
  /** Resolves with true when the answer to a request was sent, or with false if the connection was lost first. */
  sent(request: RequestId): Promise<boolean>;
}

interface Tools {
  /** Answers the call that waits for a decision. @returns false if no call waits, or if the answer could not be sent */
  sendDecision(decision: Decision): Promise<boolean>;
}

interface Waiting {
  readonly filePath: string;
  /** Name of the review. */
  readonly name: string;
  /** Hash of the file's text when the review opened, see {@link hashOfPlain}. */
  readonly original: Promise<string>;
  readonly answer: (result: CallToolResult) => void;
}

/** Maximum length of a review's name (UTF-16 units). The name contains the path of the file. */
const MAX_TAB_NAME_LENGTH = 1_024;

const CLOSED = "the CLI has closed the review";

const SEVERITIES = ["Error", "Warning", "Info", "Hint"];

const Tab = z.string().max(MAX_TAB_NAME_LENGTH);

const result = (...texts: string[]): CallToolResult => ({
  content: texts.map((text) => ({ type: "text", text })),
});

/**
 * Answer for a rejected or closed review. The CLI ignores this answer if the user has already answered in the terminal.
 */
const rejected = (name: string): CallToolResult => result("DIFF_REJECTED", name);

export function registerTools(server: McpServer, options: ToolsOptions): Tools {
  const { reviews, diagnose, log, sent, unchanged, refused, answered } = options;
  /**
   * Pending calls of `openDiff` that wait for a decision, by request. Several calls can have the same name, because the
   * user may decide on a text while the next text arrives.
   */
  const waiting = new Map<RequestId, Waiting>();

  function settle(request: RequestId, outcome: CallToolResult): void {
    const found = waiting.get(request);
    waiting.delete(request);
    found?.answer(outcome);
  }

  /** Returns the requests that wait for a decision on a review, the oldest first. */
  const requestsOf = (name: string) =>
    [...waiting].filter(([, call]) => call.name === name).map(([request]) => request);

  async function openDiff(
    filePath: string,
    newContent: string,
    name: string,
    { requestId: request, signal }: { requestId: RequestId; signal: AbortSignal },
  ) {
    const earlier = requestsOf(name);
    const outcome = new Promise<CallToolResult>((answer) => {
      waiting.set(request, { filePath, name, original: originalOf(filePath), answer });
    });
    /** Removes this call from `waiting`. @returns false if a later call with the same name has replaced this call */
    const withdraw = () => waiting.delete(request) && requestsOf(name).length === 0;
    try {
      await reviews.openDiff({ filePath, newContent }, name, request);
    } catch (error) {
      withdraw();
      if (error instanceof Refusal) log.info("a review was refused:", error.message);
      else log.error("a review failed:", error);
      const reason = sentence(error);
      if (!signal.aborted) refused(filePath, reason);
      throw new Refusal(reason);
    }
    // The new text has replaced the open review with this name, unless the user has just decided on that review.
    for (const replaced of earlier) settle(replaced, rejected(name));
    const cancel = () => withdraw() && void reviews.dismiss(name, "cancelled");
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", cancel);
    return outcome;
  }

  server.registerTool(
    "openDiff",
    {
      description: "Opens a modifiable diff of a file, and returns the user's decision.",
      inputSchema: {
        old_file_path: z.string(),
        new_file_path: z.string(),
        new_file_contents: z.string(),
        tab_name: Tab,
      },
    },
    ({ new_file_path, new_file_contents, tab_name }, call) =>
      openDiff(new_file_path, new_file_contents, tab_name, call),
  );
  server.registerTool(
    "close_tab",
    { description: "Closes a diff.", inputSchema: { tab_name: Tab } },
    async ({ tab_name: name }) => {
      await reviews.dismiss(name, "answered");
      const requests = requestsOf(name);
      for (const request of requests) settle(request, rejected(name));
      if (requests.length > 0) answered();
      return result("TAB_CLOSED");
    },
  );
  server.registerTool(
    "closeAllDiffTabs",
    { description: "Closes all diffs of this client.", inputSchema: {} },
    async () => {
      const count = await reviews.dismissAll();
      // The CLI also calls this when a subagent has ended, while another subagent still waits for a decision. After an
      // error, the CLI goes on asking in its terminal. A rejection would count as the user's.
      for (const [request, { filePath }] of [...waiting]) {
        settle(request, { ...result(CLOSED), isError: true });
        refused(filePath, CLOSED);
      }
      return result(`CLOSED_${count}_DIFF_TABS`);
    },
  );
  server.registerTool(
    "getDiagnostics",
    {
      description: "Returns the diagnostics of one file, or of all open files.",
      inputSchema: { uri: z.string().optional() },
    },
    async ({ uri }) => {
      const found = await diagnose(uri?.replace(/^file:\/\//, "")).catch(() => []);
      return result(JSON.stringify(byFile(found)));
    },
  );

  return {
    async sendDecision({ name, request, filePath, content }) {
      if (request === undefined) return false;
      const original = await waiting.get(request)?.original;
      if (!waiting.has(request)) return false;
      const isUnchanged = content !== undefined && hashOfPlain(content) === original;
      const isAccepted = content !== undefined && !isUnchanged;
      settle(request, isAccepted ? result("FILE_SAVED", content) : rejected(name));
      if (isUnchanged) unchanged(filePath);
      return sent(request);
    },
  };
}

/** Returns the hash of the file's text. A missing file counts as empty. */
async function originalOf(filePath: string): Promise<string> {
  const { bytes } = await readDiskText(filePath);
  return hashOfPlain(bytes ?? "");
}

/** Groups diagnostics by file. Does not percent-encode paths, because the CLI does not encode paths in its URIs. */
function byFile(found: readonly Diagnostic[]) {
  const files = new Map<string, object[]>();
  for (const { path, line, character, severity, message, source, code } of found) {
    const start = { line: line - 1, character: character - 1 };
    const diagnostic = {
      message,
      severity: SEVERITIES[severity - 1],
      range: { start, end: start },
      source,
      code,
    };
    files.set(path, [...(files.get(path) ?? []), diagnostic]);
  }
  return [...files].map(([path, diagnostics]) => ({ uri: `file://${path}`, diagnostics }));
}
