/**
 * Serves WebSockets, with one session for each CLI. A session serves MCP, sends notifications, and detects dead
 * connections. This module is loaded when the first client connects.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { JSONRPCMessageSchema, type RequestId } from "@modelcontextprotocol/sdk/types.js";
import { type WebSocket, WebSocketServer } from "ws";
import { attempt } from "../base/attempt.ts";
import type { Log } from "../base/log.ts";
import type { Client, SharedContext } from "../http/client.ts";
import { hasLongId, sessionInfo } from "../http/client-limits.ts";
import { mentionOf } from "./mention.ts";
import { type Diagnose, type ReviewsAndCallbacks, registerTools } from "./tools.ts";

/** Intervals and timeouts (milliseconds). */
export interface Times {
  /** Maximum time from the handshake to the `initialize` request. */
  start: number;
  /** Delay from `initialize` to the first notification. Claude Code 2.1.330 loses earlier notifications. */
  settle: number;
  /** Interval between two pings. The connection is closed if the client has not answered the last ping. */
  ping: number;
}

const TIMES: Times = { start: 10_000, settle: 600, ping: 30_000 };

/** WebSocket subprotocol that the client requires. */
const SUBPROTOCOL = "mcp";

/** Time for a client to confirm the end of its connection. */
const CLOSE_TIMEOUT_MS = 500;

interface Identity {
  /** Name of the CLI's profile. */
  readonly cli: string;
  /** True if the CLI inserts file references into its own prompt. */
  readonly mentions: boolean;
}

export interface SocketServerOptions {
  version: string;
  log: Log;
  /** Maximum length of a message (bytes). */
  maxMessage: number;
  /** Determines the CLI of a client. @param client name that the client reports */
  identify(credential: string, client: string): Identity;
  reviewsOf(client: Client): ReviewsAndCallbacks;
  diagnose: Diagnose;
  times?: Times;
}

interface Listeners {
  /** Called after the client's `initialize` request. */
  connected(session: Client): void;
  /** Called when a connection is lost after `connected` was called. */
  ended(session: Client): void;
}

export function createSocketServer(options: SocketServerOptions) {
  const { log, maxMessage } = options;
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: maxMessage,
    handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
  });

  return {
    /**
     * Completes the WebSocket handshake, and serves the connection.
     * @param credential name of the token with which the client opened the connection
     */
    open(request: IncomingMessage, socket: Duplex, head: Buffer, credential: string, listeners: Listeners) {
      const { localPort, remotePort } = request.socket;
      const ports = localPort && remotePort ? { own: localPort, client: remotePort } : undefined;
      server.handleUpgrade(request, socket, head, (opened) => {
        serve(opened, ports, credential, { ...options, ...listeners }).catch((error: unknown) => {
          log.error("a WebSocket could not be served:", error);
          opened.terminate();
        });
      });
    },
    /** Ends all connections. Idempotent. */
    close() {
      for (const socket of server.clients) {
        socket.close(1001);
        setTimeout(() => socket.terminate(), CLOSE_TIMEOUT_MS).unref();
      }
      server.close();
    },
  };
}

/** Runs the session of one CLI. @param credential name of the token with which the client opened the connection */
async function serve(
  socket: WebSocket,
  ports: Client["ports"],
  credential: string,
  options: SocketServerOptions & Listeners,
): Promise<void> {
  const { log, times = TIMES } = options;
  const id = randomUUID();
  const server = new McpServer({ name: "gemini-bridge.nvim", version: options.version });
  const introduction = { protocolVersion: "", clientInfo: { name: "", version: "" } };
  let info = sessionInfo(id, credential, introduction);
  let identity: Identity | undefined;
  let isConnected = false;
  let isSettled = false;
  /** `context`: the latest context. `shown`: the selection that was sent last. */
  let context: SharedContext | undefined;
  let shown: SelectionChanged | undefined;
  /** Functions to call when the answer to a request was sent, or can no longer be sent. */
  const awaited = new Map<RequestId, (isSent: boolean) => void>();

  const transport: Transport = {
    start: async () => {},
    send(message) {
      return new Promise((resolve, reject) => {
        socket.send(JSON.stringify(message), (error) => {
          if ("id" in message && !("method" in message) && message.id !== undefined)
            reportSent(message.id, !error);
          if (error) return reject(error);
          showContext();
          resolve();
        });
      });
    },
    close: async () => socket.close(),
  };

  function reportSent(request: RequestId, isSent: boolean): void {
    awaited.get(request)?.(isSent);
    awaited.delete(request);
  }

  const canSend = () => isSettled && socket.readyState === socket.OPEN;

  function notify(method: string, params: Record<string, unknown>): void {
    transport.send({ jsonrpc: "2.0", method, params }).catch(() => {}); // a "close" event reports a failure
  }

  /**
   * Sends the latest context. Sends nothing if the client already has this context, or has not read all earlier
   * messages.
   */
  function showContext(): void {
    if (!canSend() || !context || socket.bufferedAmount > 0) return;
    const next = selectionOf(context);
    if (isDeepStrictEqual(next, shown)) return;
    shown = next;
    notify("selection_changed", { ...next });
  }

  let isAlive = true;
  const starting = setTimeout(() => socket.terminate(), times.start);
  const pinging = setInterval(() => {
    if (!isAlive) return socket.terminate();
    isAlive = false;
    socket.ping();
  }, times.ping);
  starting.unref();
  pinging.unref();

  socket
    .on("pong", () => {
      isAlive = true;
    })
    .on("error", ({ message }) => log.debug(`socket ${id.slice(0, 8)}: ${message.split(":", 1)[0]}`))
    .on("message", (data, isBinary) => {
      isAlive = true;
      if (socket.readyState !== socket.OPEN) return; // the connection is being closed after an invalid message
      if (isBinary) return socket.close(1003, "text is expected");
      const message = parse(String(data));
      if (message) transport.onmessage?.(message);
      else socket.close(1007, "not a JSON-RPC message");
    })
    .once("close", () => {
      clearTimeout(starting);
      clearInterval(pinging);
      const wasConnected = isConnected;
      isConnected = isSettled = false;
      for (const request of [...awaited.keys()]) reportSent(request, false);
      if (wasConnected) options.ended(session);
      transport.onclose?.(); // aborts pending calls, whose reviews are already closed
    });

  const session: Client = {
    id,
    get info() {
      return info;
    },
    get isConnected() {
      return isConnected;
    },
    ports,
    sendContext(next) {
      context = next;
      showContext();
    },
    sendDecision: (decision) => tools.sendDecision(decision),
    mention: (references, cwd) =>
      canSend() && identity?.mentions ? mentionOf(references, cwd, notify) : undefined,
  };
  const tools = registerTools(server, {
    ...options.reviewsOf(session),
    diagnose: options.diagnose,
    log,
    sent: (request) => new Promise((report) => void awaited.set(request, report)),
  });
  server.server.onerror = ({ message }) => log.debug(`socket ${id.slice(0, 8)}: ${message.split(":", 1)[0]}`);
  server.server.oninitialized = () => {
    if (isConnected || socket.readyState !== socket.OPEN) return;
    clearTimeout(starting);
    const { name = "", version = "" } = server.server.getClientVersion() ?? {};
    identity = options.identify(credential, name);
    info = sessionInfo(id, identity.cli, { protocolVersion: "", clientInfo: { name, version } });
    isConnected = true;
    setTimeout(() => {
      isSettled = socket.readyState === socket.OPEN;
      showContext();
    }, times.settle).unref();
    options.connected(session);
  };
  await server.connect(transport);
}

/** Parses a text as a JSON-RPC message. @returns undefined for an invalid message, or a message with a long id */
function parse(text: string) {
  const message: unknown = attempt(() => JSON.parse(text));
  return hasLongId(message) ? undefined : JSONRPCMessageSchema.safeParse(message).data;
}

/** Position in a file. Both numbers are 0-based. `character` counts UTF-16 units. */
interface Position {
  line: number;
  character: number;
}

/** Parameters of `selection_changed`. An empty path clears the CLI's last selection. */
interface SelectionChanged {
  text: string;
  filePath: string;
  fileUrl: string;
  selection: { start: Position; end: Position; isEmpty: boolean };
}

const zeroBased = ({ line, character }: Position): Position => ({ line: line - 1, character: character - 1 });

/** Converts the context to the parameters of `selection_changed`. The message names only the active file. */
function selectionOf({ context, selected }: Pick<SharedContext, "context" | "selected">): SelectionChanged {
  const file = context.workspaceState?.openFiles?.find(({ isActive }) => isActive);
  const { path = "", selectedText: text = "" } = file ?? {};
  // Without a selection, the CLI uses only the path. The position is then constant, so that cursor movements cause no
  // messages.
  const range =
    text !== "" && selected ? selected : { start: { line: 1, character: 1 }, end: { line: 1, character: 1 } };
  const selection = { start: zeroBased(range.start), end: zeroBased(range.end), isEmpty: text === "" };
  return { text, filePath: path, fileUrl: path === "" ? "" : `file://${path}`, selection };
}
