/** Connects to an editor when a request needs one. After a disconnect, reconnects to the same editor or to another. */
import { type Address, exchange, messagesOf } from "./http.ts";
import { type Message, property, type Request } from "./without-editor.ts";

/** Interval of searches for an editor (ms). */
const SEARCH_INTERVAL_MS = 1_000;

interface Upstream {
  /** Stores the client's `initialize` request. Each connection to an editor begins with this request. */
  introduce(request: Request): void;
  /**
   * Sends a request to the editor.
   * @param isAwaited returns false if the client has cancelled the request
   * @returns the editor's answer; undefined if no editor is running
   */
  ask(request: Request, isAwaited: () => boolean): Promise<Message | undefined>;
  /** Forwards a message that needs no answer. Does nothing if no editor is connected. */
  tell(message: Message): Promise<void>;
}

interface Session {
  address: Address;
  headers: Record<string, string>;
}

/**
 * Creates the connection.
 * @param receive called with notifications and requests of the editor
 */
export function createUpstream(receive: (message: Message) => void): Upstream {
  let introduction: Request | undefined;
  let session: Promise<Session | undefined> | undefined;
  let sessions = 0;
  let due: NodeJS.Timeout | undefined;
  /** The client's subscriptions to resources, by URI. Each new editor gets them again. */
  const subscriptions = new Map<string, Request>();

  async function connect(): Promise<Session | undefined> {
    if (!introduction) return undefined;
    const { findNeovim } = await import("./find.ts");
    const address = await findNeovim();
    if (!address) return undefined;
    const response = await exchange(address, {}, introduction);
    const id = response.headers["mcp-session-id"];
    let version = "";
    for await (const { result } of messagesOf(response))
      version = String(property(result, "protocolVersion"));
    if (response.statusCode !== 200 || typeof id !== "string") return undefined;
    const opened = { address, headers: { "mcp-session-id": id, "mcp-protocol-version": version } };
    await drain(opened, { jsonrpc: "2.0", method: "notifications/initialized" });
    void listen(opened);
    for (const request of subscriptions.values()) await drain(opened, request);
    sessions += 1;
    if (sessions > 1) {
      // Tells the client to list tools, resources and prompts again: the previous editor may have offered others.
      for (const what of ["tools", "resources", "prompts"])
        receive({ jsonrpc: "2.0", method: `notifications/${what}/list_changed` });
    }
    return opened;
  }

  async function drain({ address, headers }: Session, message: Message): Promise<void> {
    (await exchange(address, headers, message)).resume();
  }

  /** Forwards the editor's standalone event stream until the stream ends. */
  async function listen({ address, headers }: Session): Promise<void> {
    const here = session;
    try {
      for await (const message of messagesOf(await exchange(address, headers))) receive(message);
    } catch {
      // Ignores a broken stream. If the editor has ended, the next request will fail.
    }
    if (session === here) session = undefined;
    searchAgain();
  }

  /**
   * Searches for an editor after a pause if the client has subscriptions. Such a client waits for notifications, and
   * possibly sends no request that would start a search.
   */
  function searchAgain(): void {
    clearTimeout(due);
    if (subscriptions.size > 0 && !session) due = setTimeout(() => void current(), SEARCH_INTERVAL_MS);
  }

  /**
   * Returns the session with the editor, and connects if there is none. After a failure, the next request tries again.
   */
  async function current(): Promise<Session | undefined> {
    session ??= connect().catch(() => undefined);
    const asked = session;
    const found = await asked;
    if (!found && session === asked) {
      session = undefined;
      searchAgain();
    }
    return found;
  }

  /** Adds or removes a subscription after the editor has confirmed the request. */
  function remember(request: Request, { error }: Message): void {
    const uri = property(request.params, "uri");
    if (typeof uri !== "string" || error !== undefined) return;
    if (request.method === "resources/subscribe") subscriptions.set(uri, request);
    if (request.method === "resources/unsubscribe") subscriptions.delete(uri);
  }

  /** Sends a request to the editor. @returns the answer or an error; "gone" if the editor did not accept the request */
  async function pass({ address, headers }: Session, request: Request): Promise<Message | "gone"> {
    const response = await exchange(address, headers, request).catch(() => undefined);
    if (!response || response.statusCode === 404 || response.statusCode === 401) {
      response?.resume();
      return "gone";
    }
    try {
      for await (const message of messagesOf(response)) {
        if (message.id === request.id && message.method === undefined) return message;
        receive(message);
      }
    } catch {
      // Does not send the request again: the editor may already have started to execute the request.
    }
    const error = { code: -32603, message: "Neovim ended before it answered" };
    return { jsonrpc: "2.0", id: request.id, error };
  }

  return {
    introduce(request) {
      introduction = request;
    },
    async ask(request, isAwaited) {
      for (let tries = 0; tries < 2; tries++) {
        const open = await current();
        const asked = session;
        if (!isAwaited()) return undefined;
        const answer = open && (await pass(open, request));
        if (answer && answer !== "gone") remember(request, answer);
        if (answer !== "gone") return answer;
        if (session === asked) session = undefined;
      }
      return undefined;
    },
    async tell(message) {
      const open = await session;
      if (open && message.method !== "notifications/initialized") await drain(open, message).catch(() => {});
    },
  };
}
