/** The way to the editor: found when it is needed, and again when it has gone. */
import type { Message, Request } from "./alone.ts";
import { type Address, exchange, messagesOf } from "./http.ts";

/** An editor that has gone is looked for this often (milliseconds). */
const PAUSE = 1_000;

export interface Upstream {
  /** Keeps how the client has introduced itself: so it is introduced to each editor. */
  introduce(request: Request): void;
  /** @returns the editor's answer; nothing when there is no editor */
  ask(request: Request): Promise<Message | undefined>;
  /** Passes on what needs no answer, to an editor that is known. */
  tell(message: Message): Promise<void>;
}

interface Session {
  address: Address;
  headers: Record<string, string>;
}

/** @param receive takes what the editor says unasked */
export function createUpstream(receive: (message: Message) => void): Upstream {
  let introduction: Request | undefined;
  let session: Promise<Session | undefined> | undefined;
  let sessions = 0;
  let due: NodeJS.Timeout | undefined;
  /** What the client has subscribed to, by its URI: asked anew of each editor. */
  const subscriptions = new Map<string, Request>();

  async function connect(): Promise<Session | undefined> {
    const { findNeovim } = await import("./find.ts");
    const address = await findNeovim();
    if (!address || !introduction) return undefined;
    const response = await exchange(address, {}, introduction);
    const id = response.headers["mcp-session-id"];
    let version = "";
    for await (const { result } of messagesOf(response)) version = versionOf(result);
    if (response.statusCode !== 200 || typeof id !== "string") return undefined;
    const opened = { address, headers: { "mcp-session-id": id, "mcp-protocol-version": version } };
    await drain(opened, { jsonrpc: "2.0", method: "notifications/initialized" });
    void listen(opened);
    for (const request of subscriptions.values()) await drain(opened, request);
    sessions += 1;
    if (sessions > 1) {
      // Another editor, or the same one anew, may offer something else.
      for (const what of ["tools", "resources", "prompts"])
        receive({ jsonrpc: "2.0", method: `notifications/${what}/list_changed` });
    }
    return opened;
  }

  async function drain({ address, headers }: Session, message: Message): Promise<void> {
    (await exchange(address, headers, message)).resume();
  }

  /** Passes on the standing stream, for as long as it lasts. */
  async function listen({ address, headers }: Session): Promise<void> {
    const here = session;
    try {
      for await (const message of messagesOf(await exchange(address, headers))) receive(message);
    } catch {
      // It broke: the next question finds out whether the editor is still there.
    }
    if (session === here) session = undefined;
    comeBack();
  }

  /** Whoever has subscribed waits for news, and asks nothing that would find the editor again. */
  function comeBack(): void {
    clearTimeout(due);
    if (subscriptions.size > 0 && !session) due = setTimeout(() => void current(), PAUSE);
  }

  /** @returns the session; one that cannot be begun is tried again by the next question */
  async function current(): Promise<Session | undefined> {
    session ??= connect().catch(() => undefined);
    const asked = session;
    const found = await asked;
    if (!found && session === asked) {
      session = undefined;
      comeBack();
    }
    return found;
  }

  /** Keeps what the editor has agreed to. */
  function remember(request: Request, { error }: Message): void {
    const uri = uriOf(request.params);
    if (uri === undefined || error !== undefined) return;
    if (request.method === "resources/subscribe") subscriptions.set(uri, request);
    if (request.method === "resources/unsubscribe") subscriptions.delete(uri);
  }

  /** @returns the answer, or why there is none: `gone` when the editor has not taken the question */
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
      // What it has begun to do is not asked for twice.
    }
    const error = { code: -32603, message: "Neovim went away before it had answered" };
    return { jsonrpc: "2.0", id: request.id, error };
  }

  return {
    introduce(request) {
      introduction = request;
    },
    async ask(request) {
      for (let tries = 0; tries < 2; tries++) {
        const open = await current();
        const asked = session;
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

function uriOf(params: unknown): string | undefined {
  return typeof params === "object" && params !== null && "uri" in params ? String(params.uri) : undefined;
}

function versionOf(result: unknown): string {
  return typeof result === "object" && result !== null && "protocolVersion" in result
    ? String(result.protocolVersion)
    : "";
}
