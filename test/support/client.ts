/** Connects a client that behaves like Gemini CLI, and reads discovery files. */
import { EventEmitter, once } from "node:events";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  type IdeContext,
  IdeContextNotificationSchema,
  IdeDiffAcceptedNotificationSchema,
  IdeDiffRejectedNotificationSchema,
} from "@google/gemini-cli-core/dist/src/ide/types.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type CallToolResult, CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import type { Scope } from "./scope.ts";
import { WAIT_MS } from "./wait.ts";

/** Parameters of notifications, by method. */
interface Notifications {
  "ide/contextUpdate": IdeContext;
  "ide/diffAccepted": { filePath: string; content: string };
  "ide/diffRejected": { filePath: string };
}

export interface CompanionClient {
  /** The client of the MCP SDK, for requests that have no method here. */
  mcp: Client;
  /** Received notifications, oldest first. Tests may empty these lists to wait for the next notification. */
  received: { [M in keyof Notifications]: Notifications[M][] };
  /** Errors that would make a real CLI show "Disconnected": invalid notifications and lost streams. */
  errors: Error[];
  /** Waits for a notification that satisfies `predicate`. Notifications that were already received count too. */
  waitForNotification<M extends keyof Notifications>(
    method: M,
    predicate?: (params: Notifications[M]) => boolean,
    timeout?: number,
  ): Promise<Notifications[M]>;
  openDiff(filePath: string, newContent: string): Promise<CallToolResult>;
  /**
   * Closes a diff, as the CLI does when the user answers in the CLI.
   * @returns the content that the CLI would read, if any
   */
  closeDiff(filePath: string, suppressNotification?: boolean): Promise<string | undefined>;
  /** Disconnects like the CLI: breaks the stream, and sends no DELETE. */
  close(): Promise<void>;
}

/** The part of the `closeDiff` answer that the CLI reads. null if there is no diff. */
const CloseDiffAnswer = z.object({ content: z.string().nullable() });

/** Connects to the bridge like the IdeClient of Gemini CLI: uses the same SDK classes in the same order. */
export async function connectClient(
  t: Scope,
  { port, token, name = "streamable-http-client" }: { port: number; token: string; name?: string },
): Promise<CompanionClient> {
  const mcp = new Client({ name, version: "0.61.0" });
  const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`), {
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
  });
  const received: CompanionClient["received"] = {
    "ide/contextUpdate": [],
    "ide/diffAccepted": [],
    "ide/diffRejected": [],
  };
  const errors: Error[] = [];
  const arrivals = new EventEmitter();

  function record<T>(list: T[], item: T): void {
    list.push(item);
    arrivals.emit("arrival");
  }
  mcp.fallbackNotificationHandler = async (notification) => {
    const message = { jsonrpc: "2.0", ...notification };
    switch (notification.method) {
      case "ide/contextUpdate":
        return record(received["ide/contextUpdate"], IdeContextNotificationSchema.parse(message).params);
      case "ide/diffAccepted":
        return record(received["ide/diffAccepted"], IdeDiffAcceptedNotificationSchema.parse(message).params);
      case "ide/diffRejected":
        return record(received["ide/diffRejected"], IdeDiffRejectedNotificationSchema.parse(message).params);
      default:
        throw new Error(`unknown notification ${notification.method}`);
    }
  };
  mcp.onerror = (error) => void errors.push(error);
  t.teardown(() => mcp.close());

  await mcp.connect(transport);
  await mcp.listTools();

  return {
    mcp,
    received,
    errors,
    async waitForNotification(method, predicate = () => true, timeout = WAIT_MS) {
      const signal = AbortSignal.timeout(timeout);
      const list = received[method];
      for (;;) {
        const found = list.find(predicate);
        if (found) return found;
        await once(arrivals, "arrival", { signal }).catch(() => {
          throw new Error(`no such ${method} in ${timeout} ms: ${JSON.stringify(list)} ${errors.join()}`);
        });
      }
    },
    openDiff: (filePath, newContent) =>
      mcp.request(
        { method: "tools/call", params: { name: "openDiff", arguments: { filePath, newContent } } },
        CallToolResultSchema,
      ),
    async closeDiff(filePath, suppressNotification) {
      const result = await mcp.request(
        {
          method: "tools/call",
          params: { name: "closeDiff", arguments: { filePath, suppressNotification } },
        },
        CallToolResultSchema,
      );
      const block = result.content.find(({ type }) => type === "text");
      if (result.isError || block?.type !== "text") return undefined;
      return CloseDiffAnswer.parse(JSON.parse(block.text)).content ?? undefined;
    },
    close: () => mcp.close(),
  };
}

/** Content of a discovery file: section I.2 of the companion specification. */
const DiscoveryContent = z.strictObject({
  port: z.int(),
  workspacePath: z.string(),
  authToken: z.string(),
  ideInfo: z.strictObject({ name: z.string(), displayName: z.string() }),
});

export interface Discovery {
  path: string;
  /** Permission bits, such as 0o600. */
  mode: number;
  /** Process id in the file's name. */
  pid: number;
  port: number;
  content: z.infer<typeof DiscoveryContent>;
}

/** Returns the discovery files in a temporary directory, or an empty list if the directory does not exist. */
export function readDiscovery(tmpdir: string): Discovery[] {
  const directory = join(tmpdir, "gemini", "ide");
  const entries = statSync(directory, { throwIfNoEntry: false }) ? readdirSync(directory) : [];
  return entries.flatMap((name) => {
    const match = /^gemini-ide-server-(\d+)-(\d+)\.json$/.exec(name);
    if (!match) return [];
    const path = join(directory, name);
    return {
      path,
      mode: statSync(path).mode & 0o777,
      pid: Number(match[1]),
      port: Number(match[2]),
      content: DiscoveryContent.parse(JSON.parse(readFileSync(path, "utf8"))),
    };
  });
}
