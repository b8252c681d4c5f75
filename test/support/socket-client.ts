/** Simulates Claude Code 2.1.330 on its WebSocket, and stores received messages. */
import { EventEmitter, once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { WebSocket } from "ws";
import { z } from "zod";
import type { RunningBridge } from "./bridge.ts";
import type { Scope } from "./scope.ts";

const Lock = z.object({
  pid: z.int(),
  workspaceFolders: z.array(z.string()),
  ideName: z.string(),
  transport: z.literal("ws"),
  authToken: z.string(),
});

export interface LockFile extends z.infer<typeof Lock> {
  path: string;
  port: number;
  /** Permission bits of the file. */
  mode: number;
}

/** The lock files below a home directory. */
export function readLocks(home: string): LockFile[] {
  const directory = join(home, ".claude/ide");
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .filter((name) => name.endsWith(".lock"))
    .map((name) => {
      const path = join(directory, name);
      const content = Lock.parse(JSON.parse(readFileSync(path, "utf8")));
      return { ...content, path, port: Number.parseInt(name, 10), mode: statSync(path).mode & 0o777 };
    });
}

/** Returns the lock file of a bridge. Fails if there are several. */
export function lockOf({ nvim }: RunningBridge): LockFile {
  const [lock, ...others] = readLocks(nvim.dirs.home);
  if (!lock || others.length > 0) throw new Error(`${others.length} lock files too many`);
  return lock;
}

const Selection = z.strictObject({
  text: z.string(),
  filePath: z.string(),
  fileUrl: z.string(),
  selection: z.strictObject({
    start: z.strictObject({ line: z.int(), character: z.int() }),
    end: z.strictObject({ line: z.int(), character: z.int() }),
    isEmpty: z.boolean(),
  }),
});
const Message = z.object({
  id: z.union([z.number(), z.string(), z.null()]).optional(),
  method: z.string().optional(),
  params: z.unknown().optional(),
  result: z.unknown().optional(),
  error: z.object({ code: z.int(), message: z.string() }).optional(),
});
const Result = z.object({
  isError: z.boolean().optional(),
  content: z.array(z.object({ type: z.literal("text"), text: z.string() })),
});

/** Headers of the handshake, as the CLI sends them. */
export const headersOf = (token: string): Record<string, string> => ({
  "User-Agent": "claude-code/2.1.330 (cli)",
  "X-Claude-Code-Ide-Authorization": token,
});

export class SocketClient {
  readonly selections: z.infer<typeof Selection>[] = [];
  readonly #answers = new Map<unknown, z.infer<typeof Message>>();
  readonly #arrivals = new EventEmitter();
  #last = 0;

  private constructor(readonly socket: WebSocket) {
    this.#arrivals.setMaxListeners(0);
    socket.on("error", () => {});
    socket.on("close", () => this.#arrivals.emit("arrival"));
    socket.on("message", (data, isBinary) => {
      if (isBinary) throw new Error("a binary message");
      const message = Message.parse(JSON.parse(String(data)));
      if (message.method === "selection_changed") this.selections.push(Selection.parse(message.params));
      else if (message.method === "roots/list") this.send({ id: message.id, result: { roots: [] } });
      else if (message.method !== undefined) throw new Error(`unexpected ${message.method}`);
      else this.#answers.set(message.id, message);
      this.#arrivals.emit("arrival");
    });
  }

  /** Opens the connection, but sends no `initialize` request. Rejects if the server refuses the connection. */
  static async open(
    t: Scope,
    { port, authToken }: Pick<LockFile, "port" | "authToken">,
  ): Promise<SocketClient> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, ["mcp"], { headers: headersOf(authToken) });
    const client = new SocketClient(socket);
    t.teardown(() => socket.terminate());
    await once(socket, "open");
    if (socket.protocol !== "mcp" || socket.extensions !== "") throw new Error("another handshake");
    return client;
  }

  /** Connects as the CLI does at its start. */
  static async connect(t: Scope, lock: Pick<LockFile, "port" | "authToken">, name = "claude-code") {
    const client = await SocketClient.open(t, lock);
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: { roots: {} },
      clientInfo: { name, version: "2.1.330" },
    };
    await client.request("initialize", params);
    client.send({ method: "notifications/initialized" });
    client.send({ method: "ide_connected", params: { pid: process.pid } });
    await client.request("tools/list", {});
    return client;
  }

  send(message: object): void {
    this.socket.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  /** Waits for a condition. Checks the condition after each message and at the end of the connection. */
  async until<T>(check: () => T | undefined, what: string, timeout = 10_000): Promise<T> {
    const signal = AbortSignal.timeout(timeout);
    for (;;) {
      const found = check();
      if (found !== undefined) return found;
      await once(this.#arrivals, "arrival", { signal }).catch(() => {
        throw new Error(`${what} has not come: ${JSON.stringify(this.selections)}`);
      });
    }
  }

  async request(method: string, params: object): Promise<unknown> {
    const id = this.#last++;
    this.send({ id, method, params });
    const answer = await this.until(() => {
      if (this.socket.readyState !== WebSocket.OPEN) throw new Error("the connection is lost");
      return this.#answers.get(id);
    }, `the answer to ${method}`);
    if (answer.error) throw new Error(`${answer.error.code}: ${answer.error.message}`);
    return answer.result;
  }

  /**
   * Calls a tool.
   * @returns the texts of the answer; the first is "error" if the answer is an error
   */
  async call(name: string, args: object): Promise<string[]> {
    const { isError, content } = Result.parse(await this.request("tools/call", { name, arguments: args }));
    return [...(isError ? ["error"] : []), ...content.map(({ text }) => text)];
  }

  /**
   * Opens a review.
   * @returns the answer, which arrives after the user's decision
   */
  openDiff(path: string, content: string, tab = `✻ [Claude Code] ${path} ⧉`): Promise<string[]> {
    return this.call("openDiff", {
      old_file_path: path,
      new_file_path: path,
      new_file_contents: content,
      tab_name: tab,
    });
  }

  /** Waits for a selection that satisfies `check`. */
  selected(check: (selection: z.infer<typeof Selection>) => boolean, what: string) {
    return this.until(() => this.selections.find(check), what);
  }

  /**
   * Waits for the end of the connection.
   * @returns the close code
   */
  async closed(): Promise<number> {
    if (this.socket.readyState === WebSocket.CLOSED) return 0;
    const [code] = await once(this.socket, "close", { signal: AbortSignal.timeout(10_000) });
    return Number(code);
  }
}
